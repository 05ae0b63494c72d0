"""Random schedules: what `check` and `simulate` say is what follows from the definition."""

import math
import random

import pytest

from helpers.schedules import SCHEDULES, Action, Schedule, find_problem, waves
from helpers.simulate import Costs, simulate
from helpers.trace import bubble, busy, idle

from . import definition

pytestmark = pytest.mark.stress


def drawn(draw: random.Random) -> Schedule:
    """Stages on random ranks, in an order in which all can be done."""
    size = draw.randint(1, 4)
    places = [draw.randrange(size) for _ in range(draw.randint(1, 6))]
    return definition.drawn(draw, places, draw.randint(1, 5))


def named(draw: random.Random) -> Schedule:
    """One of the builders' schedules."""
    schedule = draw.choice([*SCHEDULES.values()]).made(draw.randint(1, 5), draw.randint(1, 9))
    return waves(schedule, draw.choice((1, 1, 2)))


def spoiled(draw: random.Random, schedule: Schedule) -> Schedule:
    """The schedule with something wrong in it, most of the time: moved, lost, doubled, changed."""
    ranks = [list(order) for order in schedule.ranks]
    for _ in range(draw.randint(1, 3)):
        order = draw.choice([row for row in ranks if row] or [[Action("F", 0, 0)]])
        at = draw.randrange(len(order))
        kind, s, i = order[at]
        match draw.randrange(7):
            case 0:
                order.insert(draw.randrange(len(order)), order.pop(at))
            case 1 if len(order) > 1:
                del order[at]
            case 2:
                order.insert(draw.randint(0, len(order)), order[at])
            case 3:
                order[at] = Action(draw.choice("FBIWX"), s, i)
            case 4:
                order[at] = Action(kind, s + draw.choice((-1, 1)), i)
            case 5:
                order[at] = Action(kind, s, i + draw.choice((-1, 1)))
            case 6:
                draw.choice(ranks).append(order.pop(at))
    places = schedule.rank_of if draw.random() < 0.8 else ()
    m = schedule.micro_batches if draw.random() < 0.8 else 0
    return Schedule("spoiled", ranks, places, m)


def costs_of(draw: random.Random, schedule: Schedule) -> Costs:
    """Random costs: of all stages alike or not, with or without messages, with or without limit."""
    stages, alike = schedule.stages, draw.random() < 0.3

    def times(low: float, high: float) -> list[float]:
        one = draw.uniform(low, high)
        return [one if alike else draw.uniform(low, high) for _ in range(stages)]

    return Costs(
        *(times(0 if draw.random() < 0.1 else 0.1, 3) for _ in "FIW"),
        speed=[1 if alike else draw.uniform(0.3, 2) for _ in range(schedule.size)],
        latency=draw.choice((0, 0.5)),
        bandwidth=draw.choice((math.inf, 10)),
        message_bytes=[draw.uniform(0, 20) for _ in range(stages - 1)],
        activation_bytes=times(1, 2),
        kept_for_weights=draw.choice((0, 0.5, 1)),
        memory_limit=draw.choice((None, 2 * stages * schedule.micro_batches + 1)),
        all_reduce=draw.choice((0, 0.5)),
        update=draw.choice((0, 0.25)),
        pair_share=draw.choice((1, 0.7)),
    )


def test_the_simulator_says_what_follows_from_the_definition(numbers, effort):
    for _ in range(effort(300, 4000)):
        seed = numbers.getrandbits(40)
        draw = random.Random(seed)
        schedule = draw.choice((drawn, named))(draw)
        costs = costs_of(draw, schedule)
        if costs.memory_limit:  # as tight as it can be
            roomy = simulate(schedule, costs).peak_memory
            costs = Costs(**{**vars(costs), "memory_limit": max(roomy)})
        done, full = simulate(schedule, costs), costs.for_schedule(schedule)
        said = f"{schedule} {costs}, seed {seed}"
        for found, starts in zip(done.times.starts, definition.starts(schedule, full), strict=True):
            assert found == pytest.approx(starts), said
        assert done.peak_memory == pytest.approx(definition.peaks(schedule, full)), said
        assert sum(done.busy) == pytest.approx(sum(busy(done.trace).values())), said
        for rank, row in enumerate(done.idle_by_cause()):
            assert sum(row.values()) == pytest.approx(idle(done.trace).get(rank, 0)), said
        if len(done.trace.ranks) == schedule.size:
            assert done.bubble() == pytest.approx(bubble(done.trace), abs=1e-12), said


def test_check_says_what_a_judge_by_the_definition_says(numbers, effort):
    refused = 0
    for _ in range(effort(1000, 10_000)):
        seed = numbers.getrandbits(40)
        draw = random.Random(seed)
        schedule = draw.choice((drawn, named))(draw)
        if draw.random() < 0.75:
            schedule = spoiled(draw, schedule)
        problem = find_problem(schedule)
        assert (problem is None) == definition.possible(schedule), (
            f"{schedule}: {problem}, seed {seed}"
        )
        if problem is not None:
            refused += 1
            if problem.position is not None:
                assert schedule.ranks[problem.rank][problem.position] == problem.action, str(
                    problem
                )
                assert f"rank {problem.rank}, position {problem.position}: {problem.action}" in str(
                    problem
                )
    assert refused
