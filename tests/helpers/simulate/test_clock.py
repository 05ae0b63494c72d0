"""The simulator on small steps worked out by hand; tests/fuzz holds it to the definition."""

import pytest

from helpers.schedules import (
    BadSchedule,
    gpipe,
    parse,
)
from helpers.simulate import Costs, simulate


def test_a_message_takes_latency_and_its_bytes_and_computing_goes_on():
    costs = Costs(latency=0.5, bandwidth=100, message_bytes=50)  # 1 s a message
    done = simulate(gpipe(2, 2), costs)
    assert done.times.starts == [[0, 1, 7, 9], [2, 3, 4, 6]]
    assert (done.messages, done.bytes) == (4, 200)


def test_messages_of_one_link_follow_each_other_and_latency_does_not_hold_them_up():
    costs = Costs(forward=1, latency=10, bandwidth=1, message_bytes=5)
    done = simulate(parse("0: F0 F1 B0 B1\n1: F0 F1 B0 B1"), costs)
    # The bytes of F0 leave from 1 to 6 s, those of F1 from 6 to 11 s; both arrive 10 s later.
    assert done.times.starts[1][:2] == [16, 21]


def test_the_two_directions_of_a_link_do_not_wait_for_each_other():
    costs = Costs(bandwidth=1, message_bytes=4)
    text = "0: F0 F1 B0 B1\n1: F0 B0 F1 B1"
    done = simulate(parse(text), costs)
    # F1 leaves rank 0 from 5 to 9 s; B0 leaves rank 1 from 8 to 12 s.
    assert done.times.starts == [[0, 1, 12, 16], [5, 6, 9, 10]]


def test_a_slow_rank_takes_longer_for_everything():
    done = simulate(gpipe(2, 1), Costs(speed=[1, 0.5], update=1))
    assert done.times.starts == [[0, 7], [1, 3]]
    assert done.step_time == 10 and done.busy == [4, 8]


def test_all_reduce_and_update_follow_the_last_action_of_each_rank():
    done = simulate(gpipe(2, 2), Costs(all_reduce=[2, 1], update=0.5))
    assert done.step_time == 9 + 2 + 0.5
    closing = [e for e in done.trace.events if e.kind in ("all-reduce", "update")]
    assert sorted((e.rank, e.kind, e.start, e.end) for e in closing) == [
        (0, "all-reduce", 9, 11),
        (0, "update", 11, 11.5),
        (1, "all-reduce", 7, 8),
        (1, "update", 8, 8.5),
    ]
    assert done.busy == [6.5, 6.5]


def test_what_cannot_run_is_not_simulated():
    with pytest.raises(BadSchedule, match="rank 1 never does 1B0"):
        simulate(parse("0: F0 B0\n1: F0"))
    with pytest.raises(BadSchedule, match="deadlock"):
        simulate(parse("0: F0 B0 F1 B1\n1: F0 F1 B0 B1"))


def test_the_bubble_is_counted_in_one_of_three_ways():
    with pytest.raises(ValueError, match="choose 'total', 'ideal' or 'span'"):
        simulate(gpipe(1, 1)).bubble("all")
