"""FLOPs, utilization, a bill, goodput and scaling against what was published."""

import math

import pytest

from helpers.cost import EXERCISE, MODELS, ScalingLaw, bill, flops, gpt, utilisation
from helpers.cost.goodput import Failures, restarting


@pytest.mark.parametrize(
    "attention, tera", [("full", 0.8976), ("causal", 0.8633), ("weights", 0.8289)]
)
def test_one_layer_of_llama_7b_by_each_convention(attention, tera):
    found = flops(MODELS["LLaMA-7B"], attention=attention)
    assert round(found.layer / 1e12, 4) == tera
    assert "batch 1, sequence 2048" in found.convention


@pytest.mark.parametrize("h, layers, heads, batch", [(2304, 24, 24, 512), (25600, 128, 160, 64)])
def test_the_papers_formula_counts_full_recomputation(h, layers, heads, batch):
    """arXiv 2104.04473, equation 3; and of the parameters equation 2, with the last norm."""
    s, v = 2048, 51200
    formula = 96 * batch * s * layers * h**2 * (1 + s / (6 * h) + v / (16 * layers * h))
    found = flops(gpt(h, layers, heads), batch)
    assert found.hardware("full") == pytest.approx(formula, rel=1e-12)
    assert found.model == pytest.approx(found.hardware("full") - layers * found.layer)
    assert found.hardware("selective") == pytest.approx(found.model + layers * found.scores)


@pytest.mark.parametrize(
    "h, layers, heads, batch, gpus, seconds, mfu, hfu",
    [
        (6144, 48, 64, 4, 8, 1.10, 0.415, 0.437),
        (12288, 96, 96, 64, 64, 13.75, 0.514, 0.528),
        (20480, 105, 128, 280, 280, 37.83, None, 0.570),
        (25600, 128, 160, 512, 512, 71.49, None, 0.570),
    ],
)
def test_the_published_utilization(h, layers, heads, batch, gpus, seconds, mfu, hfu):
    """arXiv 2205.05198, table 5. Its HFU counts three times our recomputation of the scores."""
    step = flops(gpt(h, layers, heads), batch)
    found = utilisation(step, seconds, gpus, 312e12, "selective")
    assert mfu is None or found.mfu == pytest.approx(mfu, rel=0.01 / seconds)
    three = step.model + 3 * (step.hardware("selective") - step.model)
    assert found.hfu * three / step.hardware("selective") == pytest.approx(
        hfu, rel=0.005 + 0.005 / seconds
    )
    assert "peak 312 TFLOP/s" in str(found)


def test_wrong_flops():
    model = MODELS["LLaMA-7B"]
    with pytest.raises(ValueError, match="attention='half': choose one of full, causal, weights"):
        flops(model, attention="half")
    with pytest.raises(ValueError, match="recompute='some': choose one of none, selective, full"):
        flops(model).hardware("some")
    for sizes in ((0, 1), (1, 0)):
        with pytest.raises(ValueError, match="a batch of . x . tokens: both must be 1 or more"):
            flops(model, *sizes)
    for given in ((0, 1, 1e12), (1, 0, 1e12), (1, 1, 0)):
        with pytest.raises(ValueError, match=r"utilisation\(\w+=0\): it must be above 0"):
            utilisation(flops(model), *given)


# --- dollars, kWh and CO2 ------------------------------------------------------------------------

RUNS = {  # GPU hours, watts, t CO2 by the grid's average: model cards; arXiv 2307.09288
    "Llama 2 70B": (1_720_320, 400, 291.42),
    "Llama 3.1 70B": (7.0e6, 700, 2040),
    "Llama 3.1 405B": (30.84e6, 700, 8930),
    "Llama 4": (7.38e6, 700, 1999),
}


@pytest.mark.parametrize("run", RUNS)
def test_published_emissions_to_seven_percent(run):
    hours, watts, tons = RUNS[run]
    found = bill(hours, watts=watts).co2
    assert abs(found / tons - 1) < 0.07


def test_a_bill_says_what_it_counts():
    # arXiv 2412.19437, table 1: 2,788 thousand H800 hours, 5.576 million dollars
    assert bill(2.788e6).dollars == pytest.approx(5.576e6)
    found = bill(1000, euros=0.2, co2=0.5, pue=1.5, dollars=3)
    assert str(found) == (
        "1,000 GPU hours: 3,000 dollars of rent; 1,050 kWh, 210 euros, 0.525 t CO2 "
        "(3 dollars an hour, 700 W a GPU, PUE 1.5, 0.2 euros and 0.5 kg CO2 a kWh)"
    )
    with pytest.raises(ValueError, match=r"bill\(gpu_hours=-1\): give 0 or more"):
        bill(-1)
    with pytest.raises(ValueError, match=r"bill\(watts=nan\): give 0 or more"):
        bill(1, watts=math.nan)
    with pytest.raises(ValueError, match=r"bill\(pue=0.9\): a data center draws at least"):
        bill(1, pue=0.9)


# --- failures ------------------------------------------------------------------------------------


def test_goodput_of_llama_3():
    """419 interruptions in 54 days, and more than 90 % effective (2407.21783, section 3.3.4)."""
    between = Failures(16_384, 5.8).seconds
    assert between == pytest.approx(54 * 86_400 / 419, rel=0.01)
    assert 0.88 < restarting(between, 818, 30, restart=300, failures=40_000) < 0.92


@pytest.mark.parametrize("between, save, restart", [(11_160, 30, 300), (180, 9, 9)])
def test_a_restarting_job_has_its_closed_form(between, save, restart):
    """Intervals that end before a failure: a geometric series of exp(-(t + C) / M)."""
    every = math.sqrt(2 * save * between)  # Young's, which loses least
    intervals = math.exp(-restart / between) / (math.exp((every + save) / between) - 1)
    found = restarting(between, every, save, restart, failures=40_000)
    assert found == pytest.approx(every * intervals / between, rel=0.03)


# --- scaling laws --------------------------------------------------------------------------------


@pytest.mark.parametrize("law", [EXERCISE, ScalingLaw(482, 0.3478, 2085.43, 0.3658, 1.8172)])
def test_the_lowest_point_of_a_curve_is_in_its_middle(law):
    budget = 1.23e22
    curve = law.curve(budget)
    best = min(curve, key=curve.get)
    sizes = list(curve)
    assert sizes.index(best) == 30 and len(sizes) == 61
    assert sizes[60] / best == pytest.approx(30) and best / sizes[0] == pytest.approx(30)
    assert curve[best] == law.loss(best, budget / 6 / best)
    near = [law.loss(best * x, budget / 6 / best / x) for x in (0.999, 1.001)]
    assert min(near) > curve[best]
    if law is EXERCISE:
        assert f"{best:.2e} {curve[best]:.3f}" == "8.18e+09 2.066"


@pytest.mark.parametrize("budget", [0, -1e22, math.inf, math.nan, "much", None, True])
def test_a_budget_that_trains_nothing(budget):
    with pytest.raises(
        ValueError, match="budget .*(is not a number|trains nothing): give"
    ) as caught:
        EXERCISE.checked(budget)
    assert "1.23e22" in str(caught.value)
