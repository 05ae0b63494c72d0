"""Machines from lists."""

import pytest

from helpers.cluster import PRESETS, Layout, estimate
from helpers.cost import gpt


def test_a_machine_reaches_a_share_of_what_it_could():
    machine = PRESETS["A100"]
    assert machine.memory_seconds(
        1e9
    ) * machine.memory_bandwidth * machine.memory_share == pytest.approx(1e9)
    assert machine.between.speed == machine.between.share * machine.between.bandwidth
    n, products = 4096, machine.peak * machine.matmul / (1 + machine.matmul_half * 3 / 4096)
    assert machine.matmul_seconds(n, n, n) == pytest.approx(2 * n**3 / products)


def test_a_slower_machine_takes_that_much_longer():
    for machine in PRESETS.values():
        layout = Layout(8, dp=2, pp=2, tp=2)
        there = estimate(gpt(1024, 4, 16), layout, machine).seconds
        assert estimate(gpt(1024, 4, 16), layout, machine.slower(1.5)).seconds == pytest.approx(
            1.5 * there
        )
