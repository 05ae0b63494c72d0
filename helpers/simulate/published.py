"""Bubble rates that a paper publishes, beside those of the simulator.

Qi et al., "Zero bubble pipeline parallelism", arXiv 2401.10241: the times of table 9 go in, the
rates of table 5 come out. Their rate counts the span of a rank: `Simulated.bubble("span")`.

Its interleaved column can't come from an honest simulation. There, only the first micro-batch of
each round waits for the message from the last rank back to the first, and from first to last.
`as_published` reads it so; the honest rate is up to 0.005 more.
"""

from dataclasses import dataclass

from helpers.schedules import SCHEDULES, Schedule, interleaved, needed_stage
from helpers.simulate import Costs, simulate
from helpers.simulate.costs import seconds_of


@dataclass(frozen=True)
class Published:
    """A row: model, ranks, micro-batches, layers of a stage, milliseconds, and the rates."""

    model: str
    p: int
    m: int
    layers: int
    forward: float
    input_grad: float
    weight_grad: float
    latency: float
    rates: dict[str, float]

    def costs(self, chunks: int = 1) -> Costs:
        """In milliseconds."""
        times = (self.forward, self.input_grad, self.weight_grad)
        return Costs(*(each / chunks for each in times), latency=self.latency)


def _row(model, p, m, layers, f, i, w, c, *rates) -> Published:
    names = ("1F1B", "interleaved", "ZB-H1", "ZB-H2", "ZB-2p")
    return Published(model, p, m, layers, f, i, w, c, dict(zip(names, rates, strict=True)))


ROWS = (
    _row("1.5B", 8, 24, 3, 18.522, 18.086, 9.337, 0.601, 0.2431, 0.1055, 0.1585, 0.1083, 0.0433),
    _row("1.5B", 8, 32, 3, 18.513, 18.086, 9.331, 0.626, 0.1985, 0.0818, 0.1242, 0.0837, 0.0039),
    _row("1.5B", 8, 64, 3, 18.546, 18.097, 9.321, 0.762, 0.1240, 0.0443, 0.0674, 0.0444, 0.0026),
    _row("6.2B", 8, 24, 4, 29.718, 29.444, 19.927, 0.527, 0.2347, 0.0808, 0.1323, 0.0698, 0.0029),
    _row("6.2B", 8, 32, 4, 29.802, 29.428, 19.530, 0.577, 0.1898, 0.0628, 0.1045, 0.0559, 0.0022),
    _row("6.2B", 8, 64, 4, 29.935, 29.621, 19.388, 0.535, 0.1091, 0.0320, 0.0554, 0.0294, 0.0010),
)


def simulated_rate(row: Published, name: str) -> float:
    """The bubble rate of a named schedule in the simulator; "interleaved": one layer a chunk."""
    if name == "interleaved":
        done = simulate(interleaved(row.p, row.m, row.layers), row.costs(row.layers))
    else:
        done = simulate(SCHEDULES[name].made(row.p, row.m), row.costs())
    return done.bubble("span")


def as_published(row: Published) -> float:
    """Return the interleaved rate in the paper's reading, which leaves messages out."""
    schedule, costs = interleaved(row.p, row.m, row.layers), row.costs(row.layers)
    seconds = seconds_of(schedule.rank_of, costs.for_schedule(schedule))
    ends: dict[tuple[str, int, int], float] = {}
    clock, at = [0.0] * row.p, [0] * row.p
    while len(ends) < 2 * schedule.stages * row.m:
        for rank, actions in enumerate(schedule.ranks):
            while at[rank] < len(actions):
                kind, stage, i = actions[at[rank]]
                before = needed_stage(schedule, actions[at[rank]])
                if before is not None and not _left_out(schedule, before, stage, i):
                    if (kind, before, i) not in ends:
                        break
                    clock[rank] = max(clock[rank], ends[kind, before, i] + row.latency)
                clock[rank] += seconds[kind][stage]
                ends[kind, stage, i] = clock[rank]
                at[rank] += 1
    computing = row.m * (row.forward + row.input_grad + row.weight_grad)
    return 1 - computing / max(clock)


def _left_out(schedule: Schedule, before: int, stage: int, micro_batch: int) -> bool:
    """Whether the paper's reading does not wait: round the ring, not the first of a round."""
    last = schedule.size - 1
    way = (last, 0) if before < stage else (0, last)
    around = (schedule.rank_of[before], schedule.rank_of[stage]) == way
    return around and micro_batch % schedule.size > 0
