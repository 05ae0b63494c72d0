"""The named schedules that a search has to beat."""

from collections.abc import Iterator, Sequence

from helpers.schedules import (
    Action,
    Schedule,
    breadth_first,
    gpipe,
    interleaved,
    one_f_one_b,
    zb_h1,
    zb_h2,
    zb_v,
)


def rivals(places: Sequence[int], micro_batches: int) -> Iterator[Schedule]:
    """All named schedules that put the stages on the ranks in this way; one at a time first."""
    places, m = tuple(places), micro_batches
    size, chunks = max(places) + 1, len(places) // (max(places) + 1)
    yield one_at_a_time(places, m)
    made = [build(size, m) for build in (gpipe, one_f_one_b, zb_h1, zb_h2, zb_v)]
    if chunks > 1:
        made += [interleaved(size, m, chunks), breadth_first(size, m, chunks)]
    yield from (schedule for schedule in made if schedule.rank_of == places)


def one_at_a_time(places: Sequence[int], micro_batches: int) -> Schedule:
    """Each micro-batch through all stages and back before the next: nothing needs less memory."""
    ranks: list[list[Action]] = [[] for _ in range(max(places) + 1)]
    for i in range(micro_batches):
        for stage, rank in enumerate(places):
            ranks[rank].append(Action("F", stage, i))
        for stage, rank in reversed(list(enumerate(places))):
            ranks[rank].append(Action("B", stage, i))
    return Schedule("naive", ranks, places, micro_batches)
