"""A cluster, folded: the same as if each replica had been simulated."""

import pytest

from helpers.grid import Grid
from helpers.schedules import gpipe, interleaved, one_f_one_b
from helpers.simulate import Costs, simulate, simulate_grid

COSTS = Costs(2, 1, 1, latency=0.25, all_reduce=3, update=0.5)


@pytest.mark.parametrize("schedule", [one_f_one_b(4, 6), interleaved(2, 4)])
def test_equal_replicas_take_as_long_as_one(schedule):
    alone = simulate(schedule, COSTS)
    done = simulate_grid(Grid(dp=3, pp=schedule.size, tp=2), schedule, COSTS)
    assert done.step_time == alone.step_time and done.bubble == pytest.approx(alone.bubble())
    assert [each.numbers for each in done.folded] == [(0, 1, 2)]
    assert done.messages == 6 * alone.messages


def test_the_slowest_rank_holds_up_its_tp_group_and_then_every_replica():
    grid = Grid(dp=4, pp=3, tp=2)
    slow = {grid.rank(dp=2, pp=1, tp=1): 0.5}
    done = simulate_grid(grid, one_f_one_b(3, 5), COSTS, slow)
    assert [each.numbers for each in done.folded] == [(0, 1, 3), (2,)]
    # Without folding: the slow replica alone says when the averaging of each stage begins.
    speeds = Costs(2, 1, 1, latency=0.25, speed=[1, 0.5, 1])
    ends = [row[-1] for row in simulate(one_f_one_b(3, 5), speeds).times.ends]
    assert done.step_time == max(ends[0] + 3.5, ends[1] + 4, ends[2] + 3.5)
    waits = [e for e in done.trace.events if e.kind == "wait" and e.name == "imbalance"]
    assert {e.rank for e in waits} >= {grid.rank(dp=0, pp=r) for r in range(3)}


def test_a_replica_that_is_slower_on_every_rank_of_a_group():
    grid = Grid(dp=2, pp=2)
    both = simulate_grid(grid, gpipe(2, 2), Costs(all_reduce=1), {2: 0.5, 3: 0.5})
    assert both.step_time == 2 * simulate(gpipe(2, 2)).step_time + 1


def test_16384_gpus():
    grid = Grid(dp=128, pp=16, tp=8)
    slow = {5000: 0.5, 77: 0.9}
    done = simulate_grid(grid, one_f_one_b(16, 32), Costs(0.1, 0.1, 0.1, all_reduce=1), slow)
    assert grid.size == 16384 and len(done.folded) == 3
    assert len(done.trace.ranks) == 3 * 16
    assert "16384 ranks" in repr(done) and "3 of 128 replicas simulated" in repr(done)


@pytest.mark.parametrize(
    "grid, speed, words",
    [
        (Grid(2, 3), {}, "the grid has 3 pipeline stages (pp), and the schedule GPipe"),
        (Grid(2, 2), {4: 1}, "there is no rank 4: this grid has 4 ranks, 0 to 3"),
        (Grid(2, 2), {1: 0}, "the speed of rank 1 is 0: it must be above 0"),
    ],
)
def test_what_does_not_fit_is_refused(grid, speed, words):
    with pytest.raises(ValueError) as caught:
        simulate_grid(grid, gpipe(2, 2), COSTS, speed)
    assert words in str(caught.value)
