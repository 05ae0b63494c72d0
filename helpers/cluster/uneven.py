"""The time of 1F1B with unequal stages: plain in closed form, interleaved by walking through it."""

from collections.abc import Sequence
from functools import cache, lru_cache
from itertools import accumulate

from helpers.schedules import interleaved, walk

ROUNDS = 4


def one_f_one_b_seconds(
    forward: Sequence[float], backward: Sequence[float], micro_batches: int
) -> float:
    """Return the seconds of plain 1F1B with unequal stages.

    forward, backward: of one micro-batch, for each of the p stages, messages among it.

    It is the longest path through the schedule's actions. Such a path comes down the first
    micro-batch to some stage k, stays there while it computes, and goes up with the last one: with
    c = f + b, that is c_0 + ... + c_{k-1} beside k's own work. From k it may make a trip: down with
    a forward, turn at stage j, where a backward of p-1-j micro-batches earlier comes next, and up
    again. A trip takes c_{k+1} + ... + c_j. It saves p-1-j of the p-1-k forwards with which k
    warms up, and in the same way of the backwards with which it cools down. Those that it does not
    save follow each other at the pace of the slowest stage above. So, with F and B the longest
    forward and backward among the stages 0 to k, and D_j what the trip to j takes:

        c_0 + ... + c_{k-1} + (m-p+1+k) c_k
          + max over j >= k of (D_j + (p-1-j) F) + max over j >= k of (D_j + (p-1-j) B)

    With fewer micro-batches than p-k all forwards of k come before its backwards. There is one
    trip then, no less deep than the stage where a forward is followed by a backward:

        c_0 + ... + c_k + max over j >= p-m of (D_j + (m-1) max(F, B) + (p-1-j) min(F, B))

    The step is the longest of all these, over k. For stages that are alike both come to the
    (m+p-1) c of arXiv 2104.04473. Derived here. Each of these is a path, so the step takes no less.
    Where stages are alike but for a layer and for longer ends it is the step itself, to the last
    digits of the simulator; lengths drawn at random may take a few percent more, by a path that
    stays at two stages (`tests/helpers/cluster/test_uneven.py`).
    """
    p, m = len(forward), micro_batches
    both = [f + b for f, b in zip(forward, backward, strict=True)]
    longest = above = f = b = 0.0
    for k, own in enumerate(both):
        f, b = max(f, forward[k]), max(b, backward[k])
        trips = list(enumerate(accumulate(both[k + 1 :], initial=0.0), k))
        if m >= p - k:
            begin = max(trip + (p - 1 - j) * f for j, trip in trips)
            end = max(trip + (p - 1 - j) * b for j, trip in trips)
            path = (m - p + 1 + k) * own + begin + end
        else:
            most, least = max(f, b), min(f, b)
            turns = [trip + (p - 1 - j) * least for j, trip in trips if j >= p - m]
            path = own + (m - 1) * most + max(turns)
        longest = max(longest, above + path)
        above += own
    return longest


def interleaved_seconds(
    forward: Sequence[float], backward: Sequence[float], ranks: int, micro_batches: int
) -> float:
    """Return the seconds of interleaved 1F1B with stages of any length, action by action.

    After `ROUNDS` rounds each further one takes what the slowest rank computes in it.
    """
    both = [f + b for f, b in zip(forward, backward, strict=True)]
    slowest = max(sum(both[rank::ranks]) for rank in range(ranks))
    walked, seconds = _walked(ranks, micro_batches), [*forward, *backward]
    ends = [0.0]  # of each action in turn; the first is before all of them
    for before, needed, work in _order(ranks, walked, len(forward) // ranks):
        free, come = ends[before], ends[needed]
        ends.append((free if free > come else come) + seconds[work])
    return max(ends) + (micro_batches - walked) * slowest


@lru_cache(64)
def _order(ranks: int, micro_batches: int, chunks: int) -> list[tuple[int, int, int]]:
    """The actions of interleaved 1F1B so that each comes after those it waits for.

    Each as (the one before on its rank, the one it needs, its stage; plus `stages` if backward);
    actions are counted from 1, and 0 is none.
    """
    schedule, stages = interleaved(ranks, micro_batches, chunks), ranks * chunks
    ones = [1.0] * stages
    starts = walk(schedule, dict.fromkeys("FBIW", ones)).starts
    actions = sorted(
        (start, rank, action)
        for rank, row in enumerate(schedule.ranks)
        for start, action in zip(starts[rank], row, strict=True)
    )
    number: dict[tuple, int] = {}
    last, found = [0] * ranks, []
    for count, (_, rank, (kind, stage, i)) in enumerate(actions, 1):
        if kind == "F":
            need = number.get(("F", stage - 1, i), 0)
        else:
            need = number.get(("B", stage + 1, i)) or number["F", stage, i]
        found.append((last[rank], need, stage + stages * (kind == "B")))
        number[kind, stage, i] = last[rank] = count
    return found


@cache
def most_layers(layers: tuple[int, ...], ranks: int, micro_batches: int) -> list[int]:
    """Return for each rank how many layers' activations it keeps at most in interleaved 1F1B.

    layers: of each stage.
    """
    schedule = interleaved(ranks, _walked(ranks, micro_batches), len(layers) // ranks)
    return [
        max(accumulate(layers[a.stage] * (1 if a.kind == "F" else -1) for a in actions))
        for actions in schedule.ranks
    ]


def _walked(ranks: int, micro_batches: int) -> int:
    """How many micro-batches are enough: all of them, or `ROUNDS` rounds of alike ones."""
    return micro_batches if micro_batches % ranks else min(micro_batches, ROUNDS * ranks)
