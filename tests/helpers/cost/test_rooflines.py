"""At a bound, counted bytes take as long as counted FLOPs."""

import math
from dataclasses import replace

import pytest

from helpers.clone import ROOT
from helpers.cost import MODELS, bytes_on_the_wire, flops, gpt, read_config
from helpers.cost.rates import H100
from helpers.cost.rooflines import (
    data_parallel_tokens,
    expert_width,
    fsdp_tokens,
    layer_weights,
)

RATES = {"rate": 989e12, "link": 50e9}
MIXTRAL = read_config(ROOT / "EP/configs/mixtral_8x7b.json")
DEEPSEEK = read_config(ROOT / "EP/configs/deepseek_v3.json")
DENSE = [MODELS[f"Llama 3 {size}"] for size in ("8B", "405B")]


def equal(computed, sent):
    return math.isclose(sent / RATES["link"], computed / RATES["rate"])


def weights(model, tokens):
    """FLOPs of one layer forward, without scores."""
    return flops(model, 1, 1, "weights").weights * tokens


def sent(model, weights=0.0, tokens=1, **how):
    """By one rank that has `weights`, of a model of one layer."""
    one = replace(model, layers=how.get("pp", 1))
    return bytes_on_the_wire(one, weights, micro_batch=1, micro_batches=1, sequence=tokens, **how)


@pytest.mark.parametrize("model", DENSE, ids=lambda model: f"{model.hidden}")
def test_a_dense_layer_by_the_formulas(model):
    held = layer_weights(model)
    for ranks in (2, 64):
        tokens = data_parallel_tokens(model, **RATES, ranks=ranks)
        assert equal(2 * weights(model, tokens), sent(model, held, dp=ranks).data)
        tokens = fsdp_tokens(model, **RATES, ranks=ranks)
        assert equal(3 * weights(model, tokens), sent(model, held, dp=ranks, zero=3).data)
    assert data_parallel_tokens(model, **RATES, ranks=1) == 0  # there is nobody to average with
    four = data_parallel_tokens(model, **RATES, gradient=4)
    assert four == pytest.approx(2 * data_parallel_tokens(model, **RATES))
    for weight, gradient, times in ((1, 1, 0.5), (1, 4, 1.25), (2, 4, 1.5)):
        found = fsdp_tokens(model, **RATES, weight=weight, gradient=gradient)
        assert found == pytest.approx(times * fsdp_tokens(model, **RATES))


def test_experts_by_the_formulas():
    model = MIXTRAL
    width = expert_width(model, **RATES, ep=8)
    used = 3 * model.hidden * width * model.moe.chosen
    token = 2 * model.moe.chosen * model.hidden  # bytes that go to its experts
    assert equal(3 * 2 * used * 100, 4 * 7 / 8 * 100 * token)
    expert = 3 * model.hidden * model.moe.intermediate
    for ep in (1, 8):  # a rank holds more than a token passes, and averages all of it
        held = layer_weights(model) + (8 / ep - 2) * expert
        tokens = data_parallel_tokens(model, **RATES, ep=ep, ranks=64)
        assert equal(2 * weights(model, tokens), sent(model, held, dp=64).data)
    one = 3 * 7168 * 2048 * 58 / 61  # of DeepSeek's 61 layers 58 have experts
    assert layer_weights(DEEPSEEK) - layer_weights(DEEPSEEK, 64) == pytest.approx(4 * one)


def ranks(model, rate, link):
    """At which tensor parallelism sends for as long as it computes: lesson 10 derives it."""
    return 1 + 3 / 8 * layer_weights(model) / model.hidden * link / rate


def test_the_published_forms():
    """(3/8)(4d + 3f) B/F and its kin, for the 7B layer: 21 ranks on NVLink, 2.3 over a card."""
    model, grouped = MODELS["LLaMA-7B"], MODELS["Llama 3 405B"]
    assert ranks(model, 400e12, 450e9) - 1 == pytest.approx(20.8, abs=0.05)
    assert ranks(model, 400e12, 50e9) - 1 == pytest.approx(2.3, abs=0.05)
    assert layer_weights(model) == 4096 * (4 * 4096 + 3 * 11008)
    assert layer_weights(grouped) == 16384 * ((2 + 2 / 16) * 16384 + 3 * 53248)
    assert layer_weights(gpt(1024, 2, 8)) == 12 * 1024**2


def test_wrong_rates_and_ranks():
    for rates in ((0, 50e9), (1, 0)):
        with pytest.raises(ValueError, match=r"rate=. FLOP/s and link=.* bytes/s: both must be"):
            fsdp_tokens(DENSE[0], *rates)
    with pytest.raises(ValueError, match="0 ranks: give 1 or more"):
        data_parallel_tokens(DENSE[0], **RATES, ranks=0)
    with pytest.raises(ValueError, match="no experts"):
        expert_width(DENSE[0], **RATES)


def test_the_page_has_the_bounds_of_the_code():
    """Of docs/rooflines.md, the row of Llama 3 405B in each table, at peak and reached."""
    page = (ROOT / "docs/rooflines.md").read_text(encoding="utf-8")
    for bound, digits in (
        (data_parallel_tokens, 0),
        (fsdp_tokens, 0),
        (ranks, 1),
        (lambda m, rate, link: 2 * m.kv_heads / m.heads * rate / link, 0),  # of a causal ring
        (lambda m, rate, link: m.hidden / layer_weights(m) * rate / link, 2),  # layers of a stage
    ):
        cells = []
        for link in (H100.inside, H100.between):
            both = (bound(DENSE[-1], rate, link) for rate in (H100.peak, H100.reached))
            cells.append(" / ".join(f"{value:,.{digits}f}" for value in both))
        assert f"| Llama 3 405B | {cells[0]} | {cells[1]} |" in page
    width = expert_width(DEEPSEEK, H100.peak, H100.between, copies=4, dispatch=1)
    assert f" {width:,.0f} / " in page
