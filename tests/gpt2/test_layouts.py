"""Replicas, stages or both: what the simulator plans is the lesson's straight line."""

import pytest
from project.layouts import Work, measured, planned

from helpers.network import Link
from helpers.ranks import launch


@pytest.mark.parametrize("dp", [1, 2, 4, 8])
@pytest.mark.parametrize("compute", [0.2, 0.4, 0.8])
def test_the_plan_is_a_straight_line_in_the_replicas(compute, dp):
    gradients = 3_200_000
    work = Work(compute, gradients=gradients, link=Link.of(0.0, 0.2 / gradients))
    line = (8 * compute + (8 - dp) * compute + (dp - 1) * 0.4) / 8
    assert planned(work, dp) == pytest.approx(line, rel=1e-3)


def test_ranks_take_at_least_as_long_as_planned():
    work = Work(0.04, ranks=4, gradients=40_000, link=Link.of(0.0, 1e-6))
    for rank in launch(measured, 4, ([work], [4, 2, 1]), quiet=True, checked=False):
        for dp, seconds in rank[0].items():
            assert seconds > 0.98 * planned(work, dp)
