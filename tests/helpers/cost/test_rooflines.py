"""At a bound, counted bytes take as long as counted FLOPs."""

import math

import pytest

from helpers.clone import ROOT
from helpers.cost import (
    MODELS,
    ModelConfig,
    all_gather_bytes,
    context_parallel_bytes,
    data_parallel_bytes,
    flops,
    gpt,
    pipeline_bytes,
    read_config,
    tensor_parallel_bytes,
)
from helpers.cost.rates import H100
from helpers.cost.rooflines import (
    data_parallel_tokens,
    expert_width,
    fsdp_tokens,
    layer_weights,
    pipeline_layers,
    ring_attention_tokens,
    tensor_parallel_ranks,
)

RATES = {"rate": 989e12, "link": 50e9}
MIXED = {
    "Mixtral 8x7B": read_config(ROOT / "EP/configs/mixtral_8x7b.json"),
    "DeepSeek-V3": read_config(ROOT / "EP/configs/deepseek_v3.json"),
}
DENSE = [MODELS[f"Llama 3 {size}"] for size in ("8B", "70B", "405B")]


def equal(computed, sent):
    return math.isclose(sent / RATES["link"], computed / RATES["rate"])


def weights(model, tokens):
    """FLOPs of one layer forward, without scores."""
    return flops(model, 1, 1, "weights").weights * tokens


@pytest.mark.parametrize("model", DENSE, ids=lambda model: f"{model.hidden}")
def test_a_dense_layer_by_the_formulas(model):
    held = layer_weights(model)
    for ranks in (2, 64):
        tokens = data_parallel_tokens(model, **RATES, ranks=ranks)
        assert equal(2 * weights(model, tokens), data_parallel_bytes(held, ranks))
        tokens = fsdp_tokens(model, **RATES, ranks=ranks)
        assert equal(3 * weights(model, tokens), data_parallel_bytes(held, ranks, zero=3))
    tp = tensor_parallel_ranks(model, **RATES)
    for tokens in (1, 8192):  # the length of the sequence cancels
        assert equal(3 * weights(model, tokens) / tp, tensor_parallel_bytes(model, 1, tokens, tp))
    layers = pipeline_layers(model, **RATES)
    assert equal(layers * weights(model, 10), pipeline_bytes(model, 1, 10))


def test_gradients_of_four_bytes():
    model = DENSE[0]
    assert data_parallel_tokens(model, **RATES, gradient=4) == pytest.approx(
        2 * data_parallel_tokens(model, **RATES)
    )
    tokens = data_parallel_tokens(model, **RATES, gradient=4, sharded=True, ranks=8)
    scattered, gathered = (all_gather_bytes(b * layer_weights(model), 8) for b in (4, 2))
    assert equal(2 * weights(model, tokens), scattered)  # behind backward
    assert equal(weights(model, tokens), gathered)  # behind the next forward pass
    assert data_parallel_tokens(model, **RATES, sharded=True, ranks=8) == tokens
    assert fsdp_tokens(model, **RATES, weight=1, gradient=1) == pytest.approx(
        fsdp_tokens(model, **RATES) / 2
    )
    assert fsdp_tokens(model, **RATES, weight=1, gradient=4) == pytest.approx(
        1.25 * fsdp_tokens(model, **RATES)
    )
    assert fsdp_tokens(model, **RATES, gradient=4) == pytest.approx(
        1.5 * fsdp_tokens(model, **RATES)
    )


@pytest.mark.parametrize("model", DENSE, ids=lambda model: f"{model.hidden}")
@pytest.mark.parametrize("causal", [True, False])
def test_a_ring_by_the_formulas(model, causal):
    ranks = 16
    here = ring_attention_tokens(model, **RATES, causal=causal, ranks=ranks)
    scores = flops(model, 1, 1, "causal" if causal else "full").scores * (here * ranks) ** 2
    ahead, back = context_parallel_bytes(model, 1, here * ranks, ranks)
    assert equal(scores / ranks, ahead)
    here = ring_attention_tokens(model, **RATES, causal=causal, backward=True, ranks=ranks)
    scores = flops(model, 1, 1, "causal" if causal else "full").scores * (here * ranks) ** 2
    ahead, back = context_parallel_bytes(model, 1, here * ranks, ranks)
    assert equal(2.5 * scores / ranks, back)


def test_experts_by_the_formulas():
    for name in ("Mixtral 8x7B", "DeepSeek-V3"):
        model = MIXED[name]
        width = expert_width(model, **RATES, ep=8)
        used = 3 * model.hidden * width * model.moe.chosen
        token = 2 * model.moe.chosen * model.hidden  # bytes that go to its experts
        assert equal(3 * 2 * used * 100, 4 * 7 / 8 * 100 * token)
    with pytest.raises(ValueError, match="no experts"):
        expert_width(DENSE[0], **RATES)


def test_replicas_with_experts_hold_more_than_a_token_passes():
    """All experts of a layer with gradients to average, on one rank and on eight."""
    model = MIXED["Mixtral 8x7B"]
    expert = 3 * model.hidden * model.moe.intermediate
    for ep in (1, 8):
        held = layer_weights(model) + (8 / ep - 2) * expert
        tokens = data_parallel_tokens(model, **RATES, ep=ep, ranks=64)
        assert equal(2 * weights(model, tokens), data_parallel_bytes(held, 64))


def test_the_published_forms():
    """(3/8)(4d + 3f) B/F and its kin, for the 7B layer: 21 ranks on NVLink, 2.3 over a card."""
    model = ModelConfig("llama", 4096, 32, 32, 32, 128, 11008, 32000)
    assert tensor_parallel_ranks(model, 400e12, 450e9) - 1 == pytest.approx(20.8, abs=0.05)
    assert tensor_parallel_ranks(model, 400e12, 50e9) - 1 == pytest.approx(2.3, abs=0.05)
    assert layer_weights(model) == 4096 * (4 * 4096 + 3 * 11008)
    grouped = MODELS["Llama 3 405B"]
    assert layer_weights(grouped) == 16384 * ((2 + 2 / 16) * 16384 + 3 * 53248)
    assert layer_weights(gpt(1024, 2, 8)) == 12 * 1024**2


def test_wrong_rates_and_ranks():
    with pytest.raises(ValueError, match=r"rate=0 FLOP/s and link=50000000000.0 bytes/s: both"):
        pipeline_layers(DENSE[0], 0, 50e9)
    with pytest.raises(ValueError, match="0 ranks: give 1 or more"):
        data_parallel_tokens(DENSE[0], **RATES, ranks=0)


def test_the_page_has_the_bounds_of_the_code():
    """Of docs/rooflines.md, the row of Llama 3 405B in each table, at peak and reached."""
    page = (ROOT / "docs/rooflines.md").read_text(encoding="utf-8")
    for bound, digits in (
        (data_parallel_tokens, 0),
        (fsdp_tokens, 0),
        (tensor_parallel_ranks, 1),
        (ring_attention_tokens, 0),
        (pipeline_layers, 2),
    ):
        cells = []
        for link in (H100.inside, H100.between):
            both = (bound(DENSE[-1], rate, link) for rate in (H100.peak, H100.reached))
            cells.append(" / ".join(f"{value:,.{digits}f}" for value in both))
        assert f"| Llama 3 405B | {cells[0]} | {cells[1]} |" in page, bound.__name__
    width = expert_width(MIXED["DeepSeek-V3"], H100.peak, H100.between, copies=4, dispatch=1)
    assert f" {width:,.0f} / " in page
