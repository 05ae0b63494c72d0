"""One race: two ways to do the same, timed in turn."""

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from helpers.ranks import launch


@dataclass(frozen=True)
class Race:
    """Two ways to do the same."""

    name: str  # what is done
    ours: str  # what each way is called
    rival: str
    run_ours: Callable[[], float]  # do it once, and give the time it took, in `unit`
    run_rival: Callable[[], float]
    unit: str = "s"
    runs: int = 5  # pairs that count; one pair more goes before them, to warm up


def in_the_same_ranks(
    name: str, ours: str, rival: str, work: Callable, ranks: int, arguments: tuple
) -> Race:
    """A race on ranks, a step of each in turn: what slows one slows the other.

    work: of a rank; gives the seconds of both, as `timed_in_turn` does.
    """
    last: list[float] = []

    def run_ours() -> float:
        times = launch(work, ranks, arguments, quiet=True, checked=False)
        last[:] = [1e3 * max(each) for each in zip(*times, strict=True)]
        return last[0]

    return Race(name, ours, rival, run_ours, lambda: last[1], "ms")


def timed_in_turn(
    ways: Sequence[Callable[[], object]],
    steps: int,
    warm_up: int = 1,
    before: Sequence[Callable[[], object]] = (),
) -> list[float]:
    """On a rank: the median of the seconds of each way, with one thread.

    before: what is done before a step of each, untimed. The first `warm_up` steps don't count.
    """
    import torch
    import torch.distributed as dist

    from helpers.hang.monitor import the_monitor

    the_monitor().rest()  # as under torchrun: what explains hangs writes every message down
    torch.set_num_threads(1)
    times: list[list[float]] = [[] for _ in ways]
    for _ in range(steps + warm_up):
        for number, way in enumerate(ways):
            if before:
                before[number]()
            dist.barrier()
            begun = time.perf_counter()
            way()
            times[number].append(time.perf_counter() - begun)
    return [statistics.median(each[warm_up:]) for each in times]


def run(race: Race) -> tuple[list[float], list[float]]:
    """Run a race, ours and the rival in turn, and return the times of both, pair by pair."""
    pairs = [(race.run_ours(), race.run_rival()) for _ in range(race.runs + 1)][1:]
    return [ours for ours, _ in pairs], [rival for _, rival in pairs]


def row(race: Race, ours: list[float], rival: list[float]) -> str:
    """Return a row of the table, in Markdown; its last cell is the median of ours / rival."""

    def told(name: str, times: list[float]) -> str:
        middle = f"{statistics.median(times):.3g} {race.unit}"
        return f"{name}: {middle} ({min(times):.3g}–{max(times):.3g})"

    ratios = [a / b for a, b in zip(ours, rival, strict=True)]
    spread = f"**{statistics.median(ratios):.2f}** ({min(ratios):.2f}–{max(ratios):.2f})"
    return f"| {race.name} | {told(race.ours, ours)} | {told(race.rival, rival)} | {spread} |"


HEAD = """\
| what | ours: median (least–most) | rival: median (least–most) | ours / rival (least–most) |
|---|---|---|---|"""
