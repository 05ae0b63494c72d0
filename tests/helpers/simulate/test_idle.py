"""A cause for every idle moment: none without one, none with two."""

import pytest

from helpers.schedules import gpipe, interleaved, naive, one_f_one_b, parse, zb_h1
from helpers.simulate import CAUSES, Costs, simulate
from helpers.trace import idle


def causes(done, rank):
    return [(i.cause, i.start, i.end) for i in done.idle if i.rank == rank]


def test_with_free_messages_and_equal_stages_only_dependencies_are_waited_for():
    done = simulate(gpipe(2, 2))
    assert causes(done, 0) == [("dependency", 2, 5)]
    assert causes(done, 1) == [("dependency", 0, 1), ("finished", 7, 9)]
    (first,) = [i for i in done.idle if i.rank == 0]
    assert (str(first.action), first.until) == ("0B0", 1)


def test_the_last_part_of_a_wait_is_the_message():
    done = simulate(gpipe(2, 1), Costs(latency=0.5))
    assert causes(done, 1)[:2] == [("dependency", 0, 1), ("message", 1, 1.5)]
    assert causes(done, 0) == [("dependency", 1, 4.5), ("message", 4.5, 5)]


def test_what_a_slow_stage_adds_is_imbalance():
    # Stage 0 takes 3 s for a forward, stage 1 takes 1 s: with 2 s each, F1 would wait for nothing.
    done = simulate(parse("0: F0 F1 B0 B1\n1: F0 F1 B0 B1"), Costs(forward=[3, 1]))
    assert causes(done, 1)[:3] == [("dependency", 0, 2), ("imbalance", 2, 3), ("imbalance", 4, 6)]
    even = simulate(gpipe(2, 2), Costs(forward=[2, 2]))
    assert not [i for i in even.idle if i.cause == "imbalance"]


def test_where_a_forward_is_ready_and_has_no_room_memory_is_the_cause():
    costs = {"activation_bytes": 10}
    without = simulate(one_f_one_b(2, 3), Costs(**costs))
    assert causes(without, 0)[0] == ("dependency", 2, 4)
    limited = simulate(one_f_one_b(2, 3), Costs(**costs, memory_limit=20))
    assert causes(limited, 0)[0] == ("memory", 2, 4)  # F2 could run, a third has no room
    roomy = simulate(one_f_one_b(2, 3), Costs(**costs, memory_limit=30))
    assert causes(roomy, 0)[0] == ("dependency", 2, 4)


def test_memory_is_the_cause_from_the_arrival_of_the_forwards_input_on():
    text = "0: F0 F1 B0 B1\n1: F0 B0 F1 B1\n2: F0 B0 F1 B1"
    costs = Costs(bandwidth=1, message_bytes=[2, 0], activation_bytes=[0, 1, 0], memory_limit=1)
    done = simulate(parse(text), costs)
    # F1 is on rank 1 at 5 s, where F0 has the only room until B0, which can start at 7 s.
    assert causes(done, 1)[2:4] == [("dependency", 4, 5), ("memory", 5, 7)]


@pytest.mark.parametrize(
    "schedule", [gpipe(3, 4), one_f_one_b(4, 6), interleaved(2, 4), zb_h1(4, 6), naive(1, 2)]
)
def test_the_causes_add_up_to_all_idle_time(schedule):
    costs = Costs(
        forward=[1 + 0.3 * s for s in range(schedule.stages)],
        latency=0.2,
        bandwidth=10,
        message_bytes=1,
        activation_bytes=1,
        memory_limit=8,
        all_reduce=0.25,
        update=0.125,
    )
    done = simulate(schedule, costs)
    for rank, row in enumerate(done.idle_by_cause()):
        assert tuple(row) == CAUSES
        assert sum(row.values()) == pytest.approx(done.step_time - done.busy[rank])
        assert sum(row.values()) == pytest.approx(idle(done.trace)[rank])
    for a, b in zip(done.idle, done.idle[1:], strict=False):
        assert a.start < a.end and (a.rank < b.rank or a.end <= b.start)
