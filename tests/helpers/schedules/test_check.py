"""`check`: each kind of mistake gets one sentence that names its place."""

from dataclasses import replace

import pytest

from helpers.draw import who_waits
from helpers.schedules import (
    Action,
    BadSchedule,
    Schedule,
    check,
    find_problem,
    gpipe,
    interleaved,
    naive,
    one_f_one_b,
    parse,
    waves,
    zb_h1,
)
from helpers.waits import WaitGraph


def said(text_or_schedule, **options):
    """The sentence of the problem."""
    schedule = text_or_schedule
    if isinstance(schedule, str):
        schedule = parse(schedule)
    with pytest.raises(BadSchedule) as caught:
        check(schedule, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    "text, words",
    [
        ("0: F0 F1 B0", "rank 0 never does 0B1: each stage does F and B"),
        ("0: F0 B0\n1: F0 B0 F1 B1", "rank 0 never does 0F1: "),
        ("0: F0 I0", "rank 0 never does 0W0: "),
        ("0: F0 B0 F999999999999", "rank 0 never does 0F1: "),
        ("0: 0F0 0B0 999999999999F0", "stage 1 is on no rank: "),
        ("0: F0 F0 B0", "rank 0, position 1: 0F0 is there a second time, after position 0"),
        ("0: F0 B0 F1 B1 B0", "position 4: 0B0 is there a second time, after position 1"),
        ("0: B0 F0", "position 0: 0B0 needs 0F0, which comes later, at position 1"),
        ("0: F0 W0 I0", "position 1: 0W0 needs 0I0, which comes later, at position 2"),
        ("0: F0 W0", "position 1: 0W0 needs 0I0, which rank 0 never does"),
        ("0: F0 B0 B1", "position 2: 0B1 needs 0F1, which rank 0 never does"),
        ("0: F0 B0 I0 W0", "position 2: 0I0 does again what 0B0 did at position 1"),
        ("0: F0 B0 W0", "position 2: 0W0 does again what 0B0 did at position 1"),
        ("0: F0 I0 W0 B0", "position 3: 0B0 does again what 0I0 did at position 1"),
        ("0: 1F0 0F0 1B0 0B0", "position 0: 1F0 needs 0F0, which comes later, at position 1"),
        ("0: 0F0 1F0 0B0 1B0", "position 2: 0B0 needs 1B0, which comes later, at position 3"),
        (
            "0: 0F0 0B0\n1: 2F0 2B0",
            "stage 1 is on no rank: number stages and ranks from 0 without a gap",
        ),
        ("0: 0F0 0B0\n1: 0F1 1F0 1B0", "rank 1, position 0: 0F1 is of stage 0, which is on rank 0"),
    ],
)
def test_each_mistake_is_named_with_its_place(text, words):
    assert words in said(text)


def test_what_no_text_can_say_is_refused_too():
    good = gpipe(2, 2)
    assert said(Schedule("empty", [[], []])).startswith("the schedule has no actions")
    assert "stage 1 is on rank 7, which is not there" in said(replace(good, rank_of=(0, 7)))
    more = replace(good, micro_batches=1)
    assert "position 1: 0F1 is of micro-batch 1, and there are 1, numbered 0 to 0" in said(more)
    ranks = [[Action("X", 0, 0)]]
    assert "0X0 has the kind 'X': choose one of F, B, I, W" in said(Schedule("x", ranks, (0,), 1))
    ranks = [[Action("F", 3, 0)]]
    assert "is of stage 3, and there are stages 0 to 0" in said(Schedule("x", ranks, (0,), 1))
    assert "rank 0 never does 0F2" in said(replace(good, micro_batches=3))


def test_the_problem_knows_its_place():
    problem = find_problem(parse("0: F0 B0\n1: F0 B0 B0"))
    assert (problem.rank, problem.position, problem.action) == (1, 2, Action("B", 1, 0))
    with pytest.raises(ValueError, match="no rank waits for another, so there is nothing to draw"):
        who_waits(WaitGraph(problem.waits))


def test_a_deadlock_is_told_as_a_circle_and_drawn():
    problem = find_problem(parse("rank 0: F0 B0 F1 B1\nrank 1: F0 F1 B0 B1"))
    assert str(problem) == (
        "deadlock: rank 0 waits for rank 1 (it needs 1B0 for 0B0, position 1), and rank 1 waits "
        "for rank 0 (it needs 0F1 for 1F1, position 1): none of them can go first"
    )
    assert [wait.who for wait in problem.deadlock.cycle] == [0, 1]
    picture = who_waits(WaitGraph(problem.waits)).svg()
    assert "Deadlock: ranks 0 and 1 wait for each other" in picture
    assert "0F0 [0B0] 0F1 0B1" in picture


@pytest.mark.parametrize("schedule", [gpipe(3, 4), naive(3, 2), waves(gpipe(2, 2), 2), zb_h1(1, 3)])
def test_messages_that_flow_one_way_at_a_time_may_block(schedule):
    assert check(schedule, blocking=True) is schedule


@pytest.mark.parametrize("schedule", [one_f_one_b(2, 2), interleaved(2, 4), zb_h1(3, 4)])
def test_crossing_messages_must_not_block(schedule):
    assert find_problem(schedule) is None
    assert "none of them can go first" in said(schedule, blocking=True)


def test_two_neighbors_that_both_send_first():
    """The order that hangs in pytorch/pytorch issue 172668: SEND_F, RECV_F on both ranks."""
    crossed = """
        rank 0:  0F0 0F1 2F0 2F1 2B0 2B1 0B0 0B1
        rank 1:  1F0 1F1 3F0 3F1 3B0 3B1 1B0 1B1
    """
    check(parse(crossed))
    assert said(crossed, blocking=True) == (
        "deadlock: rank 0 waits for rank 1 (it sends the result of 0F1, position 1), and rank 1 "
        "waits for rank 0 (it sends the result of 1F0, position 0): none of them can go first"
    )
