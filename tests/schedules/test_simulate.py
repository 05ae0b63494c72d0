"""The simulator's times are those of the definition and of papers, and each wait has its cause."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.schedules import builders, in_flight, messages, parse
from helpers.schedules.builders import gpipe, interleaved, naive, one_f_one_b, zb_h1, zb_v
from helpers.simulate import CAUSES, Costs, OutOfMemory, measured, simulate
from helpers.simulate.published import ROWS, as_published, simulated_rate
from helpers.trace import Trace, bubble, busy, idle, matched_messages, peak
from tests.drawn import examples
from tests.fuzz import definition
from tests.orders import planned, recorded
from tests.said import said

from .drawing import number, priced

same = pytest.approx
MESSAGE = "peer", "tag", "stage", "micro_batch"


@examples(100)
@given(priced())
def test_the_simulator_says_what_follows_from_the_definition(case):
    schedule, costs = case
    done, full = simulate(schedule, costs), costs.for_schedule(schedule)
    for found, right in zip(done.times.starts, definition.starts(schedule, full), strict=True):
        assert found == same(right)
    assert done.peak_memory == same(definition.peaks(schedule, full))
    ends = []
    for rank, row in enumerate(done.times.ends):
        own, speed = schedule.stages_of(rank), full.speed[rank]
        after = sum(full.all_reduce[s] + full.update[s] / speed for s in own)
        ends.append((row or [0])[-1] + after)
    assert done.step_time == done.trace.duration == same(max(ends))
    if costs.memory_limit and schedule.micro_batches > 1:
        with pytest.raises(OutOfMemory, match="needs .* of activations, and the limit is "):
            simulate(schedule, replace(costs, memory_limit=costs.memory_limit - 0.1))


@examples(100)
@given(priced())
def test_each_idle_moment_has_one_cause_and_the_trace_says_the_same(case):
    schedule, costs = case
    done = simulate(schedule, costs)
    for rank, row in enumerate(done.idle_by_cause()):
        waited = sum(row.values())
        assert tuple(row) == CAUSES
        assert waited == same(done.step_time - done.busy[rank], abs=1e-9)
        assert waited == same(idle(done.trace).get(rank, 0), abs=1e-9)
    for one, next_one in zip(done.idle, done.idle[1:], strict=False):
        assert one.start < one.end
        assert one.rank < next_one.rank or one.end <= next_one.start
    waits = [e for e in done.trace.events if e.kind == "wait"]
    assert sorted((e.rank, e.start, e.end, e.info["cause"]) for e in waits) == sorted(
        (i.rank, i.start, i.end, i.cause) for i in done.idle if i.cause != "all-reduce"
    )
    if len(done.trace.ranks) == schedule.size:  # every rank has something to do
        assert done.bubble() == same(bubble(done.trace), abs=1e-9)
        assert [*busy(done.trace).values()] == same(done.busy)
        assert [peak(done.trace).get(r, 0) for r in range(schedule.size)] == same(done.peak_memory)


@examples(100)
@given(priced())
def test_the_trace_holds_every_action_and_both_ends_of_every_message(case):
    schedule, costs = case
    done, full = simulate(schedule, costs), costs.for_schedule(schedule)
    pairs = matched_messages(done.trace)
    places = schedule.rank_of
    crossing = [s for s in range(schedule.stages - 1) if places[s] != places[s + 1]]
    sent = 2 * schedule.micro_batches * sum(full.message_bytes[s] for s in crossing)
    assert done.messages == len(pairs) == 2 * schedule.micro_batches * len(crossing)
    assert same(sent) == sum(message.info["bytes"] for message, _ in pairs)
    found = [(e.rank, e.kind, *map(e.info.get, MESSAGE)) for pair in pairs for e in pair]
    assert sorted(found) == sorted(
        (rank, m.kind, m.peer, m.tag, m.action.stage, m.action.micro_batch)
        for rank, row in enumerate(messages(schedule))
        for m in row
    )
    if all(schedule.ranks):
        assert recorded(done.trace) == planned(schedule)


@examples(60)
@given(
    p=st.integers(2, 4),
    m=st.integers(2, 6),
    times=st.lists(number, min_size=12, max_size=12),
    late=st.booleans(),
    build=st.sampled_from([zb_h1, one_f_one_b]),
)
def test_costs_come_back_from_a_trace(p, m, times, late, build):
    forward, input_grad, weight_grad = times[:p], times[4 : 4 + p], times[8 : 8 + p]
    costs = Costs(forward, input_grad, weight_grad, latency=0.25 * late, update=times[0])
    found = measured(simulate(build(p, m), costs).trace)
    if build is one_f_one_b:  # its B is not split: each half gets half of it
        both = zip(input_grad, weight_grad, strict=True)
        input_grad = weight_grad = [sum(pair) / 2 for pair in both]
    assert found.forward == same(forward) and found.latency == same(costs.latency)
    assert (found.input_grad, found.weight_grad) == (same(input_grad), same(weight_grad))
    assert found.update == same([times[0]] * p)


def once(p, m, f, i, w):
    """The seconds of a step whose bubble is paid once."""
    return (m + p - 1) * (f + i + w)


# The seconds of a step by the papers, the forwards in flight on rank r, and how many of COSTS hold.
COSTS = [(1, 1, 1), (2, 1.5, 1), (2.5, 0.75, 3.25)]
FORMS = {
    naive: (lambda p, m, f, i, w: m * p * (f + i + w), lambda p, m, r: 1, 3),
    gpipe: (once, lambda p, m, r: m, 3),
    one_f_one_b: (once, lambda p, m, r: min(m, p - r), 3),
    builders.eager: (once, lambda p, m, r: min(m, 2 * (p - r) - 1), 3),
    interleaved: (
        lambda p, m, *t: once(p, 2 * m, *t),
        lambda p, m, r: min(2 * m, 2 * (p - 1 - r) + p + 1),
        1,
    ),
    zb_h1: (lambda p, m, f, i, w: once(p, m, f, i, w) - 2 * (p - 1) * w, lambda p, m, r: p - r, 2),
    builders.zb_h2: (lambda p, m, f, i, w: (3 * m + p - 1) * f, lambda p, m, r: 2 * (p - r) - 1, 1),
    zb_v: (lambda p, m, f, i, w: (6 * m + p - 1) * f, None, 1),
}


@pytest.mark.parametrize("build", FORMS, ids=lambda build: build.__name__)
def test_steps_and_memory_are_those_of_the_papers(build):
    step, flying, holding = FORMS[build]
    enough = build not in (zb_h1, builders.zb_h2, zb_v)
    for p, m in [(1, 2), (2, 4), (4, 8), (3, 9), (4, 12)]:
        for f, i, w in COSTS[: holding if enough or m >= 2 * p else 0]:
            done = simulate(build(p, m), Costs(f, i, w))
            work = done.schedule.stages // p * m * (f + i + w)
            assert done.step_time == same(step(p, m, f, i, w))
            assert done.bubble() == same(1 - work / done.step_time)
            assert done.bubble("ideal") == same(done.step_time / work - 1)
            assert done.bubble("span") == 0 or build not in (builders.zb_h2, zb_v)
            if flying:
                assert in_flight(build(p, m)) == [flying(p, m, r) for r in range(p)]


def test_smaller_facts_of_the_papers():
    for p, m in [(2, 3), (4, 8), (4, 40)]:  # eager hides messages up to half a micro-batch's work
        for share, hidden in ((1, True), (1.01, False)):
            slow = Costs(latency=share * 1.5)
            best = (m + p - 1) * 3 + 2 * (p - 1) * slow.latency
            quick = simulate(builders.eager(p, m), slow).step_time <= best + 1e-9
            assert quick == (hidden or p == 2)
            assert simulate(gpipe(p, m), slow).step_time == same(best)
            assert simulate(one_f_one_b(p, m), slow).step_time > best + 0.1
    for p, (f, i, w) in [(2, (1, 1, 1)), (4, (2, 2, 1)), (8, (3, 3, 2))]:
        done = simulate(builders.dualpipe_v(p, 3 * p + 1), Costs(f, i, w))
        assert done.step_time - max(done.busy) == (p - 1) * (f + 2 * i - w)
    for build, extra in ((zb_v, 0), (builders.dualpipe_v, 1)):
        assert max(in_flight(build(4, 12), until="weights")) == 8 + extra
    assert in_flight(zb_h1(4, 8), until="weights") == [4] * 4
    assert in_flight(builders.zb_h2(4, 8), until="weights") == [7] * 4
    assert simulate(zb_h1(2, 2), Costs(1, 0.5, 2)).span == 7.5  # where W takes longer than F


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.model}-{row.m}")
def test_the_clock_gives_the_published_rates(row):
    for name in ("1F1B", "ZB-H1", "ZB-H2"):
        assert round(simulated_rate(row, name), 4) == row.rates[name]
    assert round(as_published(row), 4) == row.rates["interleaved"]
    assert as_published(row) < simulated_rate(row, "interleaved") < as_published(row) + 0.005


def causes(schedule, rank, **costs):
    idle = simulate(schedule, Costs(**costs)).idle
    return [(each.cause, each.start, each.end) for each in idle if each.rank == rank]


def test_why_a_rank_waits():
    assert causes(gpipe(2, 2), 1) == [("dependency", 0, 1), ("finished", 7, 9)]
    assert causes(gpipe(2, 1), 0, latency=0.5) == [("dependency", 1, 4.5), ("message", 4.5, 5)]
    uneven = causes(gpipe(2, 2), 1, forward=[3, 1])
    assert uneven[:3] == [("dependency", 0, 2), ("imbalance", 2, 3), ("imbalance", 4, 6)]
    for limit, cause in ((20, "memory"), (30, "dependency")):
        found = causes(one_f_one_b(2, 3), 0, activation_bytes=10, memory_limit=limit)
        assert found[0] == (cause, 2, 4)
    # F1 is on rank 1 at 5 s, where F0 has the only room until B0, which can start at 7 s.
    three = parse("0: F0 F1 B0 B1\n1: F0 B0 F1 B1\n2: F0 B0 F1 B1")
    late = {"bandwidth": 1, "message_bytes": [2, 0], "activation_bytes": [0, 1, 0]}
    found = causes(three, 1, **late, memory_limit=1)
    assert found[2:4] == [("dependency", 4, 5), ("memory", 5, 7)]


def ask(*given, **named):
    return simulate(gpipe(2, 2), Costs(*given, **named))


def of_kinds(kinds):
    """The costs of a trace that has no whole step."""
    return measured(Trace([e for e in simulate(zb_h1(1, 1)).trace.events if e.kind in [*kinds]]))


NO_STEP = "no complete forward and backward of stage 0"
WRONG = [
    (lambda: simulate(parse("0: F0 B0\n1: F0")), "never does 1B0"),
    (lambda: ask([1, 2, 3]), "has 3 numbers, and the schedule needs 2: one"),
    (lambda: ask(weight_grad=-1), "it must be 0 or more, and finite"),
    (lambda: ask(speed=0), "it must be above 0"),
    (lambda: ask("fast"), "give a number, or a list of numbers"),
    (lambda: ask(kept_for_weights=2), "a share is from 0 to 1"),
    (lambda: of_kinds(""), "no forward that names its stage"),
    (lambda: of_kinds("IW"), "no forward that names its stage"),
    *((lambda kinds=kinds: of_kinds(kinds), NO_STEP) for kinds in ("F", "FI", "FW")),
]


@pytest.mark.parametrize("make, words", WRONG, ids=[words for _, words in WRONG])
def test_a_wrong_question_gets_a_sentence(make, words):
    assert words in said(make)
