"""A forward and a backward that run as one action (F&B): rule, check, text, and clock."""

import pytest

from helpers.schedules import (
    BadSchedule,
    Schedule,
    check,
    dualpipe_v,
    in_flight,
    parse,
    to_text,
    waves,
)
from helpers.simulate import Costs, simulate

PAIRED = """
rank 0: F0 F1 F2&B0 B1 B2
rank 1: F0 B0 F1 B1 F2 B2
"""


def apart(schedule):
    """The same order without pairs."""
    return Schedule(schedule.name, schedule.ranks, schedule.rank_of, schedule.micro_batches)


def test_text_out_and_in_again():
    schedule = check(parse(PAIRED))
    assert to_text(schedule) == PAIRED.strip() and schedule.pairs == ((2,), ())
    whole = dualpipe_v(4, 9)
    assert parse(to_text(whole)).pairs == whole.pairs and "0F7&7B3" in to_text(whole)
    for wrong, words in (("F0&B1&B2", "joins 3 actions"), ("F0&", "'' is no action")):
        with pytest.raises(ValueError, match=words):
            parse(f"rank 0: {wrong}")


@pytest.mark.parametrize("pair", ["F1&F2", "B0&F1", "F1&W0", "F1&B1"])
def test_a_pair_that_cannot_be_is_refused_in_one_sentence(pair):
    with pytest.raises(BadSchedule, match="position 1: .*&.* is no pair: write a forward and the"):
        check(parse(f"rank 0: F0 {pair}"))


def test_pairs_of_positions_that_are_not_there():
    ranks = parse("rank 0: F0 B0 F1 B1").ranks
    for pairs in ([[3]], [[4]], [[-1]], [[1, 2]]):
        with pytest.raises(BadSchedule, match="is no pair"):
            check(Schedule("by hand", ranks, pairs=pairs))
    with pytest.raises(ValueError, match="has 2 rows, and there are 1 ranks"):
        Schedule("by hand", ranks, pairs=[[], []])


def test_both_wait_for_what_either_needs():
    # Apart this runs: rank 1 has its F1 before rank 0 needs the gradient. As a pair they need
    # each other.
    text = "rank 0: F0 F1 B0 B1\nrank 1: F0 F1 B0 B1"
    check(parse(text))
    with pytest.raises(BadSchedule, match="deadlock: .*needs 1B0 for 0B0"):
        check(parse(text.replace("F1 B0", "F1&B0", 1)))
    with pytest.raises(BadSchedule, match="0B0 needs 0F0, which comes later, at position 2"):
        check(parse("rank 0: F1&B0 F0 B1"))


def test_results_leave_when_both_are_done():
    schedule = parse("rank 0: F0 F1 F2&B0 B1 B2\nrank 1: F0 B0 F1 F2 B1 B2")
    done = simulate(schedule, Costs(latency=0.5))
    # B0 of rank 1 ends at 1.5 + 1 + 2 = 4.5 and is there at 5; the pair lasts from 5 to 8.
    assert done.times.starts[0][2:4] == [5, 6] and done.times.ends[0][2:4] == [6, 8]
    assert done.times.starts[1][3] == 8.5  # F2, sent at 8 and not at 6
    half = simulate(schedule, Costs(latency=0.5, pair_share=0.5))
    assert half.times.ends[0][2:4] == [5.5, 6.5] and half.busy[0] == done.busy[0] - 1.5
    for each in (done, half):
        waits = [i for i in each.idle if i.rank == 0]
        assert sum(i.end - i.start for i in waits) == pytest.approx(each.step_time - each.busy[0])
        assert [str(i.action) for i in waits[:2]] == ["0B0", "0B0"]  # the pair waits for its B
        assert [i.cause for i in waits[:2]] == ["dependency", "message"]
    assert in_flight(schedule) == [3, 2]


@pytest.mark.parametrize("p", [2, 4, 8])
@pytest.mark.parametrize("times", [(1, 1, 1), (2, 2, 1), (3, 3, 2)])
def test_dualpipe_v_waits_as_long_as_its_authors_say(p, times):
    (f, i, w), stages = times, 2 * p
    done = simulate(dualpipe_v(p, 3 * p + 1), Costs(*times))
    idle = done.step_time - max(done.busy)
    assert idle == (stages / 2 - 1) * ((f + i + w) + (i + w) - 3 * w) == (p - 1) * (f + 2 * i - w)
    assert idle == {(2, 1): 2, (4, 1): 6, (8, 1): 14, (2, 2): 5, (4, 2): 15, (8, 2): 35}.get(
        (p, f), idle
    )
    split = simulate(apart(dualpipe_v(p, 3 * p + 1)), Costs(*times))
    assert split.step_time - max(split.busy) == (p - 1) * (f + i - w)


def test_waves_keep_their_pairs():
    assert to_text(waves(parse("rank 0: F0 F1&B0 B1"), 2)) == ("rank 0: F0 F1&B0 B1 F2 F3&B2 B3")
    check(waves(dualpipe_v(2, 4), 3))
