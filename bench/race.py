"""One race: two ways to do the same, timed in turn."""

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from helpers.ranks import launch


@dataclass(frozen=True)
class Race:
    """Two ways to do the same.

    name: what is done. ours, rival: what each way is called.
    run_ours, run_rival: do it once, and give the time it took, in `unit`.
    runs: pairs that count; one pair more goes before them, to warm up.
    note: what a reader should know.
    """

    name: str
    ours: str
    rival: str
    run_ours: Callable[[], float]
    run_rival: Callable[[], float]
    unit: str = "s"
    runs: int = 5
    note: str = ""


def seconds_of(work: Callable[[], object]) -> float:
    """How long it takes once."""
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def in_the_same_ranks(
    name: str, ours: str, rival: str, work: Callable, ranks: int, arguments: tuple, **facts
) -> Race:
    """A race on ranks, a step of each in turn: what slows one slows the other.

    work: of a rank; gives the seconds of both, as `timed_in_turn` does.
    """
    last: list[float] = []

    def run_ours() -> float:
        times = launch(work, ranks, arguments, quiet=True, checked=False)
        last[:] = [1e3 * max(each) for each in zip(*times, strict=True)]
        return last[0]

    return Race(name, ours, rival, run_ours, lambda: last[1], "ms", **facts)


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
            times[number].append(seconds_of(way))
    return [statistics.median(each[warm_up:]) for each in times]


@dataclass(frozen=True)
class Result:
    """The times of a race, pair by pair."""

    name: str
    ours: str
    rival: str
    unit: str
    note: str
    ours_times: list[float] = field(default_factory=list)
    rival_times: list[float] = field(default_factory=list)

    @property
    def ratios(self) -> list[float]:
        return [a / b for a, b in zip(self.ours_times, self.rival_times, strict=True)]

    @property
    def ratio(self) -> float:
        """The median of ours/rival."""
        return statistics.median(self.ratios)


def run(race: Race) -> Result:
    """Run a race: ours and the rival in turn."""
    result = Result(race.name, race.ours, race.rival, race.unit, race.note)
    for pair in range(race.runs + 1):
        ours, rival = race.run_ours(), race.run_rival()
        if pair:
            result.ours_times.append(ours)
            result.rival_times.append(rival)
    return result


def row(result: Result) -> str:
    """A row of the table, in Markdown."""

    def seconds_text(times: list[float]) -> str:
        low, middle, high = min(times), statistics.median(times), max(times)
        return f"{middle:.3g} {result.unit} ({low:.3g}–{high:.3g})"

    spread = f"{min(result.ratios):.2f}–{max(result.ratios):.2f}"
    cells = (
        result.name,
        f"{result.ours}: {seconds_text(result.ours_times)}",
        f"{result.rival}: {seconds_text(result.rival_times)}",
        f"**{result.ratio:.2f}** ({spread})",
    )
    return f"| {' | '.join(cells)} |"


HEAD = """\
| what | ours: median (least–most) | rival: median (least–most) | ours / rival (least–most) |
|---|---|---|---|"""
