"""The search is never worse than a named schedule, stays within the memory, and its plans run."""

from dataclasses import replace

import pytest

from helpers.schedules import check, in_flight, interleaved, one_f_one_b, zb_h1, zb_v
from helpers.search import search
from helpers.simulate import Costs, OutOfMemory, simulate
from helpers.simulate.published import ROWS, Published
from tests.said import said

ROOM = {"activation_bytes": 1, "memory_limit": 4}
# A first walk that runs 2p ahead, whatever the messages cost, leaves 0.0068 of such a large one.
LARGE = Published("28.3B", 24, 72, 1, 10.419, 10.207, 7.715, 0.408, {"ZB-2p": 0.0051})
# Of the 34h + 5as bytes of a token and layer, 32h stay for W: (hidden size, heads), s = 1024.
SIZES = {"1.5B": (2304, 24), "6.2B": (4096, 32), "28.3B": (6144, 48)}


def twice_the_memory(row):
    """The costs of a published row, in milliseconds, with room for 2p micro-batches."""
    hidden, heads = SIZES[row.model]
    kept = 32 * hidden / (34 * hidden + 5 * heads * 1024)
    room = {"activation_bytes": 1, "kept_for_weights": kept, "memory_limit": 2 * row.p}
    return Costs(row.forward, row.input_grad, row.weight_grad, latency=row.latency, **room)


@pytest.mark.parametrize("row", [*ROWS, LARGE], ids=lambda row: f"{row.model}-{row.m}")
def test_it_reaches_the_summit_of_the_zero_bubble_paper(row):
    """Its ZB-2p: searched too, with twice the memory of 1F1B."""
    found = search(row.p, row.m, twice_the_memory(row), goal="span", walks=1 if row is LARGE else 2)
    more = 0.0014 if row.m == 24 else 0.00005  # 0.00005: rounding
    assert found.simulated.bubble("span") <= row.rates["ZB-2p"] + more
    assert max(found.simulated.peak_memory) <= 2 * row.p * (1 + 1e-9)
    check(found.schedule)


ALIKE, UNLIKE = Costs(2, 1.5, 0.5, latency=0.2), Costs([1, 2, 1, 3], [2, 2, 1, 1], [1, 1, 2, 3])


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 7, None])
@pytest.mark.parametrize("costs", [Costs(), ALIKE, UNLIKE])
def test_it_beats_what_has_a_name_within_the_memory(costs, limit):
    costs = replace(costs, activation_bytes=1, memory_limit=limit)
    found = search(4, 9, costs, walks=80)
    assert all(found.simulated.step_time <= done.step_time for done in found.rivals)
    assert simulate(check(found.schedule), costs).step_time == found.simulated.step_time
    if limit:
        assert max(found.simulated.peak_memory) <= limit + 1e-9
        assert max(in_flight(found.schedule, "weights")) <= limit


def test_it_reaches_what_is_known_always_the_same_way():
    small = search(4, 8, Costs(**ROOM))  # equal halves give ZB-H1 in the memory of 1F1B
    assert small.simulated.step_time == simulate(zb_h1(4, 8)).step_time == 27
    assert search(4, 8, Costs(activation_bytes=1, memory_limit=8), goal="span").simulated.span == 24
    half = Costs(0.5, 0.5, 0.5)  # chunks in a V and in a loop
    v = search(4, 8, half, places=[0, 1, 2, 3, 3, 2, 1, 0], walks=60)
    assert v.simulated.step_time <= simulate(zb_v(4, 8), half).step_time
    loop = search(4, 8, half, places=[0, 1, 2, 3] * 2, walks=60)
    assert loop.simulated.step_time < simulate(interleaved(4, 8), half).step_time
    costs = Costs(3, 2, 1, latency=0.3, **ROOM)
    assert search(4, 6, costs, walks=70).schedule == search(4, 6, costs, walks=70).schedule
    assert search(1, 3, walks=5).simulated.step_time == 9
    assert search(3, 1, walks=5).simulated.step_time <= simulate(one_f_one_b(3, 1)).step_time


WRONG = [
    ({"costs": Costs(forward=0)}, "forward of stage 0 is 0: give the seconds"),
    ({"costs": Costs(weight_grad=-1)}, "holds -1: it must be 0 or more"),
    ({"goal": "beauty"}, "choose 'step' or 'span'"),
    ({"places": [0, 0, 2]}, "each of the ranks 0 to 2 must have one at least"),
    ({"walks": 0}, "0 walks"),
    ({"micro_batches": 0}, "0 micro-batches: give a whole number"),
]


def test_wrong_input_is_answered_in_one_sentence():
    for arguments, words in WRONG:
        assert words in said(search, **{"ranks": 3, "micro_batches": 4} | arguments)
    costs = Costs(activation_bytes=2e6, memory_limit=1e6)
    assert said(search, 3, 4, costs, error=OutOfMemory).startswith(
        "rank 0 keeps 2 MB of activations for a single micro-batch, and the limit is 1 MB: no sched"
    )
