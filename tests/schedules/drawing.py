"""What hypothesis draws: schedules that can run, some that are spoiled, and what they cost."""

import math
from dataclasses import replace

from hypothesis import strategies as st

from helpers.schedules import SCHEDULES, Action, Schedule, waves
from helpers.simulate import Costs
from tests.fuzz import definition


@st.composite
def drawn(draw):
    """Stages on any ranks, in any order in which all can be done, whole backwards or halves."""
    places = draw(st.lists(st.integers(0, 3), min_size=1, max_size=5))
    chance = draw(st.randoms(use_true_random=False))
    plain = definition.drawn(chance, places, draw(st.integers(1, 4)))
    pairs = [
        [n for n in range(len(row) - 1) if row[n].kind == "F" and row[n + 1].kind == "B"][:1]
        for row in plain.ranks
    ]
    paired = replace(plain, pairs=pairs)
    return paired if draw(st.booleans()) and definition.possible(paired) else plain


@st.composite
def named(draw, most=9):
    """One of the builders' schedules, of one wave or two."""
    builder = draw(st.sampled_from([*SCHEDULES.values()]))
    p, m, chunks = draw(st.integers(1, 5)), draw(st.integers(1, most)), draw(st.integers(1, 3))
    return waves(builder.made(p, m, chunks), draw(st.integers(1, 2)))


@st.composite
def spoiled(draw):
    """One action moved, lost, doubled or changed; it may turn out to be harmless."""
    schedule = draw(drawn() | named(4))
    ranks = [list(order) for order in schedule.ranks]
    order = draw(st.sampled_from([row for row in ranks if row]))
    kind, s, i = order.pop(draw(st.integers(0, len(order) - 1)))
    near = [(kind, s + a, i + b) for a, b in ((0, 0), (1, 0), (0, 1), (-1, 0), (0, -1))]
    new = draw(st.sampled_from(near + [(other, s, i) for other in "FBIWX" if other != kind]))
    for row in draw(st.lists(st.sampled_from(ranks), max_size=2)):
        row.insert(draw(st.integers(0, len(row))), Action(*new))
    kept = draw(st.booleans())  # else it is read off the actions
    return Schedule("spoiled", ranks, schedule.rank_of * kept, schedule.micro_batches * kept)


number = st.sampled_from([0.25, 0.5, 1, 1.75, 3])


@st.composite
def priced(draw):
    """A schedule with costs, stages alike or not, and now and then as little room as it needs."""
    schedule = draw(drawn() | named())

    def each(values, count=schedule.stages):
        return draw(values | st.lists(values, min_size=count, max_size=count))

    costs = Costs(
        *(each(number | st.just(0)) for _ in "FIW"),
        speed=each(number, schedule.size),
        latency=draw(st.sampled_from([0, 0.5])),
        bandwidth=draw(st.sampled_from([1, 10, math.inf])),
        message_bytes=each(st.integers(0, 20), schedule.stages - 1),
        activation_bytes=each(st.integers(1, 3)),
        kept_for_weights=draw(st.sampled_from([0, 0.5, 1])),
        all_reduce=draw(st.sampled_from([0, 0.5])),
        update=draw(st.sampled_from([0, 0.25])),
        pair_share=draw(st.sampled_from([1, 0.75])),
    )
    if draw(st.booleans()):
        most = max(definition.peaks(schedule, costs.for_schedule(schedule)))
        costs = replace(costs, memory_limit=most)
    return schedule, costs
