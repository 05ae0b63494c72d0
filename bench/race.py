"""One race: two ways to do the same, timed in turn."""

import statistics
from collections.abc import Callable
from dataclasses import dataclass, field


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

    def told(times: list[float]) -> str:
        low, middle, high = min(times), statistics.median(times), max(times)
        return f"{middle:.3g} {result.unit} ({low:.3g}–{high:.3g})"

    spread = f"{min(result.ratios):.2f}–{max(result.ratios):.2f}"
    cells = (
        result.name,
        f"{result.ours}: {told(result.ours_times)}",
        f"{result.rival}: {told(result.rival_times)}",
        f"**{result.ratio:.2f}** ({spread})",
    )
    return f"| {' | '.join(cells)} |"


HEAD = """\
| what | ours: median (least–most) | rival: median (least–most) | ours / rival (least–most) |
|---|---|---|---|"""
