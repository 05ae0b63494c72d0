"""Megatron's formulas exactly, and what torch really keeps."""

from dataclasses import replace

import pytest
import torch
from torch.autograd.graph import saved_tensors_hooks
from torch.nn import functional

from helpers.cost import (
    MODELS,
    forward_peak,
    gpt,
    kept_by_layer,
    layer_activations,
    read_config,
)

CASES = [(6144, 64, 4, 2048, 8), (12288, 96, 1, 2048, 8), (1024, 16, 2, 512, 4)]


@pytest.mark.parametrize("h, a, b, s, t", CASES)
def test_the_formulas_of_table_2(h, a, b, s, t):
    model, sbh = gpt(h, 4, a), s * b * h
    scores = 5 * a * s / h

    def found(*how):
        return layer_activations(model, b, s, *how) / sbh

    assert found() == pytest.approx(34 + scores, rel=1e-12)
    assert found(t) == pytest.approx(10 + 24 / t + scores / t, rel=1e-12)
    assert found(t, True) == pytest.approx((34 + scores) / t, rel=1e-12)
    assert found(t, True, "selective") == pytest.approx(34 / t, rel=1e-12)
    assert found(t, False, "selective") == pytest.approx(10 + 24 / t, rel=1e-12)
    assert found(t, False, "full") == 2
    assert found(t, True, "full") == 2 / t
    assert found(t, True, "none", 4) == pytest.approx(found(t, True) / 4, rel=1e-12)


def test_a_llama_layer_keeps_what_torch_keeps():
    """A layer written out in torch: each tensor that autograd saves counts once, by its storage."""
    b, s, h, a, i = 2, 32, 64, 4, 160
    sizes = dict(
        hidden_size=h,
        intermediate_size=i,
        num_attention_heads=a,
        num_key_value_heads=2,
        num_hidden_layers=1,
        vocab_size=10,
    )
    model = read_config(sizes | {"model_type": "llama"})
    saved = {}

    def keep(tensor):
        saved[tensor.untyped_storage().data_ptr()] = tensor  # and the storage stays alive
        return tensor

    matrices = {n: torch.randn(h, w, requires_grad=True) for n, w in (("q", h), ("o", h))}
    matrices |= {n: torch.randn(h, h // 2, requires_grad=True) for n in "kv"}
    matrices |= {n: torch.randn(h, i, requires_grad=True) for n in ("gate", "up")}
    matrices["down"] = torch.randn(i, h, requires_grad=True)
    x = torch.randn(b, s, h, requires_grad=True)
    with saved_tensors_hooks(keep, lambda tensor: tensor):
        _layer(x, matrices, a)
    own = {m.untyped_storage().data_ptr() for m in matrices.values()}
    values = sum(t.untyped_storage().nbytes() // 4 for p, t in saved.items() if p not in own)
    expected = sum(row.size for row in kept_by_layer(model, b, s)) / 2
    # K and V are repeated for the heads that share them; torch keeps the copies too
    repeated = 2 * b * s * h - 2 * b * s * (h // 2)
    small = 4 * b * s * a  # statistics of the norms
    assert expected <= values <= expected + repeated + small


def _layer(x, matrices, heads):
    b, s, h = x.shape
    normed = functional.rms_norm(x, (h,))
    q, k, v = (normed @ matrices[n] for n in "qkv")
    q = q.view(b, s, heads, -1).transpose(1, 2)
    k, v = (y.view(b, s, 2, -1).transpose(1, 2).repeat_interleave(heads // 2, 1) for y in (k, v))
    p = (q @ k.transpose(-1, -2)).softmax(-1)
    x = x + (p @ v).transpose(1, 2).reshape(b, s, h) @ matrices["o"]
    normed = functional.rms_norm(x, (h,))
    gate, up = normed @ matrices["gate"], normed @ matrices["up"]
    return x + (functional.silu(gate) * up) @ matrices["down"]


def test_the_peak_of_a_forward_pass_of_llama_7b():
    peak = forward_peak(MODELS["LLaMA-7B"])
    one, scores = 2 * 2048 * 4096, 2 * 32 * 2048**2
    assert peak.weights == 2 * 202_383_360
    assert peak.moment == "softmax"
    assert list(peak.activations.values()) == [one] * 5 + [scores] * 2
    assert peak.total == peak.weights + 5 * one + 2 * scores
    short = forward_peak(replace(MODELS["LLaMA-7B"], positions=128))
    assert short.moment == "second residual" and "scores" not in short.activations
    parts = 10 * 4096 + 32 * 128 + 4 * 11008
    assert sum(short.activations.values()) == 2 * 128 * parts


def test_fused_kernels_keep_neither_scores_nor_the_silu():
    whole = layer_activations(MODELS["Llama 3 8B"], 2, 8192, fused=True)
    assert whole == 2 * 8192 * 2 * (8 * 4096 + 4 * 4096 + 4 * 1024 + 6 * 14336) / 2


def test_latent_attention_keeps_what_it_compresses():
    """DeepSeek-V2's paper, a token of one head: its queries and keys, values, and their origins."""
    sizes = {"model_type": "deepseek_v3", "hidden_size": 64, "num_attention_heads": 4}
    sizes |= {"num_hidden_layers": 3, "intermediate_size": 96, "vocab_size": 50}
    sizes |= {"n_routed_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 24}
    sizes |= {"n_shared_experts": 1, "q_lora_rank": 24, "kv_lora_rank": 16, "qk_nope_head_dim": 8}
    model = read_config(sizes | {"qk_rope_head_dim": 4, "v_head_dim": 8})
    rows = {row.name: row for row in kept_by_layer(model, 1, 10)}
    one = 2 * 10
    assert rows["compressed queries, keys and values"].size == one * (24 + 16 + 4)
    assert rows["the same behind their norms"].size == one * (24 + 16)
    assert rows["Q and K"].size == one * 2 * 4 * 12 and rows["V"].size == one * 4 * 8
    assert rows["input of the output projection"].size == one * 4 * 8
    assert rows["gate and up"].size == 2 * one * 3 * 24  # two experts and the shared one
    with pytest.raises(ValueError, match="the peak of the forward pass of a model with latent"):
        forward_peak(model)
