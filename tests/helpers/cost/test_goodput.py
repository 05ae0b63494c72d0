"""Simulated goodput against closed forms, and against what was published."""

import math

import pytest

from helpers.cost.goodput import Failures, restarting, young


def test_young_of_the_lesson():
    between = Failures(16_384, 5.8).seconds
    assert between == pytest.approx(11_164, rel=1e-3)
    assert young(30, between) == pytest.approx(818, rel=2e-3)


@pytest.mark.parametrize(
    "between, save, restart", [(11_160, 30, 300), (1_800, 30, 300), (180, 9, 9)]
)
def test_a_restarting_job_has_its_closed_form(between, save, restart):
    """Intervals that end before a failure: a geometric series of exp(-(t + C) / M)."""
    every = young(save, between)
    intervals = math.exp(-restart / between) / (math.exp((every + save) / between) - 1)
    found = restarting(between, every, save, restart, failures=40_000)
    assert found == pytest.approx(every * intervals / between, rel=0.03)


def test_the_first_order_agrees_while_failures_are_rare():
    """A save every so often, half an interval for each failure, and the restart after it."""
    between, save = 100_000.0, 10.0
    every = young(save, between)
    lost = 1 - restarting(between, every, save, 100, failures=40_000)
    assert lost == pytest.approx(save / every + (every / 2 + 100) / between, rel=0.05)


def test_no_interval_beats_youngs_by_much():
    between, save = 5_000.0, 10.0
    best = max(restarting(between, t, save, 0) for t in range(50, 1000, 25))
    assert best - restarting(between, young(save, between), save, 0) < 0.005


def test_llama_3():
    """419 interruptions in 54 days, and more than 90 % effective (2407.21783, section 3.3.4)."""
    between = 54 * 86_400 / 419
    assert Failures(16_384, 5.8).seconds == pytest.approx(between, rel=0.01)
    assert 0.88 < restarting(between, young(30, between), 30, restart=300, failures=40_000) < 0.92
