"""Operations against the papers, and against torch's own counter."""

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode
from transformers import LlamaConfig, LlamaForCausalLM

from helpers.cluster.settings import MODELS
from helpers.cost import flops, gpt, read_config, utilisation

LLAMA_7B = MODELS["LLaMA-7B"]


@pytest.mark.parametrize(
    "attention, tera", [("full", 0.8976), ("causal", 0.8633), ("weights", 0.8289)]
)
def test_one_layer_of_llama_7b_by_each_convention(attention, tera):
    found = flops(LLAMA_7B, attention=attention)
    assert round(found.layer / 1e12, 4) == tera
    assert "batch 1, sequence 2048" in found.convention


@pytest.mark.parametrize("kv_heads", [4, 2])
def test_forward_and_backward_as_torch_counts_them(kv_heads):
    sizes = dict(
        hidden_size=64,
        intermediate_size=96,
        num_attention_heads=4,
        num_key_value_heads=kv_heads,
        num_hidden_layers=3,
        vocab_size=50,
    )
    with torch.device("meta"):
        config = LlamaConfig(**sizes, attn_implementation="eager")
        net = LlamaForCausalLM(config)
        ids = torch.zeros(2, 16, dtype=torch.long)
    ours = flops(read_config(sizes | {"model_type": "llama"}), batch=2, sequence=16)
    angles = 2 * (config.head_dim // 2) * 2 * 16  # rotary: an outer product of 16 positions
    with FlopCounterMode(display=False) as counter:
        out = net(ids)
    assert counter.get_total_flops() - ours.forward in (0, angles, angles / 2)
    with FlopCounterMode(display=False) as counter:
        out.logits.sum().backward()
    assert counter.get_total_flops() == ours.backward


@pytest.mark.parametrize("h, layers, heads, batch", [(2304, 24, 24, 512), (25600, 128, 160, 64)])
def test_the_papers_formula_counts_full_recomputation(h, layers, heads, batch):
    s, v = 2048, 51200
    formula = 96 * batch * s * layers * h**2 * (1 + s / (6 * h) + v / (16 * layers * h))
    found = flops(gpt(h, layers, heads), batch)
    assert found.hardware("full") == pytest.approx(formula, rel=1e-12)
    assert found.model == pytest.approx(found.hardware("full") - layers * found.layer)
    assert found.hardware("selective") == pytest.approx(found.model + layers * found.scores)


@pytest.mark.parametrize(
    "h, layers, heads, batch, gpus, seconds, mfu",
    [(6144, 48, 64, 4, 8, 1.10, 0.415), (12288, 96, 96, 64, 64, 13.75, 0.514)],
)
def test_the_published_mfu(h, layers, heads, batch, gpus, seconds, mfu):
    """arXiv 2205.05198, table 5. The time is given to 0.01 s, so 1.10 s is known to 0.5 %."""
    step = flops(gpt(h, layers, heads), batch)
    found = utilisation(step, seconds, gpus, 312e12, "selective")
    assert found.mfu == pytest.approx(mfu, rel=0.01 / seconds)
    assert found.hfu / found.mfu == pytest.approx(step.hardware("selective") / step.model)
    assert "peak 312 TFLOP/s" in str(found)


@pytest.mark.parametrize(
    "h, layers, heads, batch, gpus, seconds, hfu",
    [
        (6144, 48, 64, 4, 8, 1.10, 0.437),
        (12288, 96, 96, 64, 64, 13.75, 0.528),
        (20480, 105, 128, 280, 280, 37.83, 0.570),
        (25600, 128, 160, 512, 512, 71.49, 0.570),
    ],
)
def test_the_published_hfu_counts_three_times_our_recomputation(
    h, layers, heads, batch, gpus, seconds, hfu
):
    """arXiv 2205.05198, table 5: its printed formula gives its HFU, and what we count is less."""
    step, s, v = flops(gpt(h, layers, heads), batch), 2048, 51200

    def formula(extra):
        return 72 * batch * layers * s * h**2 * (1 + extra + v / (12 * layers * h))

    published = formula(s / (3 * h)) / (seconds * gpus * 312e12)
    assert published == pytest.approx(hfu, rel=0.005 + 0.005 / seconds)
    assert step.hardware("selective") == pytest.approx(formula(2 * s / (9 * h)), rel=1e-12)
    again = formula(s / (3 * h)) - step.model
    assert again == pytest.approx(3 * (step.hardware("selective") - step.model))


def test_wrong_input():
    with pytest.raises(ValueError, match="attention='half': choose one of full, causal, weights"):
        flops(LLAMA_7B, attention="half")
    with pytest.raises(
        ValueError, match="recompute='some': choose one of none, selective, op, full"
    ):
        flops(LLAMA_7B).hardware("some")
    with pytest.raises(ValueError, match="a batch of 0 x 2048 tokens"):
        flops(LLAMA_7B, batch=0)
    with pytest.raises(ValueError, match=r"utilisation\(seconds=0\): it must be above 0"):
        utilisation(flops(LLAMA_7B), 0, 1, 1e12)
