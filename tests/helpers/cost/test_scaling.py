"""The optimum against a search that knows no formula."""

import math

import pytest

from helpers.cost import ScalingLaw

LAW = ScalingLaw()


def test_the_budget_of_the_exercise():
    best = LAW.best(1.23e22)
    assert f"{best.parameters:.2e} {best.tokens:.2e} {best.loss:.3f}" == "8.18e+09 2.51e+11 2.066"
    assert best.tokens_per_parameter == pytest.approx(30.7, abs=0.05)  # and not 20
    assert "C = 6ND" in str(best)


@pytest.mark.parametrize(
    "law", [LAW, ScalingLaw(482, 0.3478, 2085.43, 0.3658, 1.8172), ScalingLaw(10, 0.5, 300, 0.2, 0)]
)
@pytest.mark.parametrize("budget", [1e15, 1.23e22, 3.8e25])
def test_no_other_split_is_better(law, budget):
    best = law.best(budget)
    assert 6 * best.parameters * best.tokens == pytest.approx(budget)
    low, high = 0.0, math.log(budget)  # golden section over log N
    g = (math.sqrt(5) - 1) / 2

    def loss(log_n):
        return law.loss(math.exp(log_n), budget / 6 / math.exp(log_n)) - law.floor

    for _ in range(200):
        a, b = high - g * (high - low), low + g * (high - low)
        low, high = (low, b) if loss(a) < loss(b) else (a, high)
    assert math.log(best.parameters) == pytest.approx(low, abs=1e-5)


@pytest.mark.parametrize("budget", [0, -1e22, math.inf, math.nan, "much", None, True])
def test_a_budget_that_trains_nothing(budget):
    with pytest.raises(
        ValueError, match="budget .*(is not a number|trains nothing): give"
    ) as caught:
        LAW.best(budget)
    assert "1.23e22" in str(caught.value)
