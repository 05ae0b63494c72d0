"""The clock against the definition: everything begins as soon as it can, and no sooner."""

import random

import pytest

from helpers.schedules import (
    BadSchedule,
    gpipe,
    interleaved,
    needed_stage,
    one_f_one_b,
    parse,
    zb_h1,
    zb_v,
)
from helpers.simulate import Costs, simulate


def slowly(schedule, costs):
    """The start of each action, by repeating the definition until nothing changes.

    Messages take the latency of their pair of stages, and links have room for all of them.
    """
    speed = [costs.speed[rank] for rank in schedule.rank_of]
    kinds = {"F": costs.forward, "I": costs.input_grad, "W": costs.weight_grad}
    starts = {action: 0.0 for order in schedule.ranks for action in order}

    def end(action):
        kind, s, _ = action
        work = kinds["I"][s] + kinds["W"][s] if kind == "B" else kinds[kind][s]
        return starts[action] + work / speed[s]

    changed = True
    while changed:
        changed = False
        for order in schedule.ranks:
            for before, action in zip([None, *order], order, strict=False):
                times = [end(before)] if before else [0.0]
                stage = needed_stage(schedule, action)
                if stage is not None:
                    one_rank = schedule.rank_of[stage] == schedule.rank_of[action.stage]
                    on_the_way = 0.0 if one_rank else costs.latency[min(stage, action.stage)]
                    for kind in "F" if action.kind == "F" else "BI":
                        needed = (kind, stage, action.micro_batch)
                        if needed in starts:
                            times.append(end(type(action)(*needed)) + on_the_way)
                if max(times) != starts[action]:
                    starts[action], changed = max(times), True
    return starts


@pytest.mark.parametrize("seed", range(12))
def test_every_start_is_as_defined_for_costs_drawn_by_chance(seed):
    draw = random.Random(seed)
    builds = [gpipe(3, 4), one_f_one_b(4, 6), interleaved(2, 4, 3), zb_h1(4, 5), zb_v(2, 4)]
    schedule = draw.choice(builds)
    numbers = [[draw.uniform(0.1, 3) for _ in range(schedule.stages)] for _ in range(3)]
    costs = Costs(
        *numbers,
        speed=[draw.uniform(0.5, 2) for _ in range(schedule.size)],
        latency=[draw.uniform(0, 1) for _ in range(schedule.stages - 1)],
    )
    done, starts = simulate(schedule, costs), slowly(schedule, costs)
    for order, found in zip(schedule.ranks, done.times.starts, strict=True):
        assert found == pytest.approx([starts[action] for action in order])


def test_a_message_takes_latency_and_its_bytes_and_computing_goes_on():
    costs = Costs(latency=0.5, bandwidth=100, message_bytes=50)  # 1 s a message
    done = simulate(gpipe(2, 2), costs)
    assert done.times.starts == [[0, 1, 7, 9], [2, 3, 4, 6]]
    assert (done.messages, done.bytes) == (4, 200)


def test_stages_of_one_rank_wait_for_no_message():
    done = simulate(zb_v(1, 1), Costs(latency=5, bandwidth=1, message_bytes=5))
    assert (done.step_time, done.messages, done.bytes) == (6, 0, 0)


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


def test_the_same_costs_give_the_same_times_and_a_short_line():
    first, second = simulate(one_f_one_b(4, 8)), simulate(one_f_one_b(4, 8), Costs())
    assert first.times == second.times and first.trace == second.trace
    line = "<1F1B: 4 ranks, 4 stages, 8 micro-batches: 33 s, bubble 27.3% of the total>"
    assert repr(first) == line


def test_what_cannot_run_is_not_simulated():
    with pytest.raises(BadSchedule, match="rank 1 never does 1B0"):
        simulate(parse("0: F0 B0\n1: F0"))
    with pytest.raises(BadSchedule, match="deadlock"):
        simulate(parse("0: F0 B0 F1 B1\n1: F0 F1 B0 B1"))


def test_the_bubble_is_counted_in_one_of_three_ways():
    with pytest.raises(ValueError, match="choose 'total', 'ideal' or 'span'"):
        simulate(gpipe(1, 1)).bubble("all")
