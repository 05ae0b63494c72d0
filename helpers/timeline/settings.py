"""What the sliders of `explore` set, and the simulated step that follows from it."""

import math
from dataclasses import asdict, dataclass, fields
from functools import lru_cache

from helpers.schedules import (
    Schedule,
    breadth_first,
    check,
    gpipe,
    interleaved,
    naive,
    one_f_one_b,
    waves,
    zb_h1,
    zb_h2,
    zb_v,
)
from helpers.simulate import Costs, Simulated, simulate

MS, MB, GB = 1e-3, 1e6, 1e9
SCHEDULES = {
    "naive": naive,
    "GPipe": gpipe,
    "1F1B": one_f_one_b,
    "interleaved 1F1B": interleaved,
    "breadth-first": breadth_first,
    "ZB-H1": zb_h1,
    "ZB-H2": zb_h2,
    "ZB-V": zb_v,
}
WITH_CHUNKS = ("interleaved 1F1B", "breadth-first")


@dataclass(frozen=True)
class Settings:
    """A schedule and what it costs, in the units that the sliders show.

    schedule: a name of `SCHEDULES`. chunks: stages of a rank, for `WITH_CHUNKS`. waves: the
    schedule follows itself so many times, for other micro-batches each time.
    forward, input_grad, weight_grad: ms of F, I and W of one micro-batch in one stage; B is I + W.
    latency: ms of a message. bandwidth: GB/s, None: no limit. message: MB of one message.
    activation: MB that a stage keeps of one micro-batch. limit: MB of a rank, None: no limit.
    """

    schedule: str = "1F1B"
    ranks: int = 4
    micro_batches: int = 8
    chunks: int = 2
    waves: int = 1
    forward: float = 10
    input_grad: float = 10
    weight_grad: float = 10
    latency: float = 0
    bandwidth: float | None = None
    message: float = 10
    activation: float = 100
    limit: float | None = None

    def made(self) -> Schedule:
        """The schedule. ValueError, one sentence, for a name or a size that there is not."""
        if self.schedule not in SCHEDULES:
            raise ValueError(
                f"no schedule {self.schedule!r}: choose one of {', '.join(map(repr, SCHEDULES))}"
            )
        chunks = self.chunks if self.schedule in WITH_CHUNKS else None
        return _made(self.schedule, self.ranks, self.micro_batches, chunks, self.waves)

    def costs(self) -> Costs:
        """The same in seconds and bytes."""
        return Costs(
            forward=self.forward * MS,
            input_grad=self.input_grad * MS,
            weight_grad=self.weight_grad * MS,
            latency=self.latency * MS,
            bandwidth=math.inf if self.bandwidth is None else self.bandwidth * GB,
            message_bytes=self.message * MB,
            activation_bytes=self.activation * MB,
            memory_limit=None if self.limit is None else self.limit * MB,
        )

    def simulated(self) -> Simulated:
        """One step. Raises as `simulate`."""
        return simulate(self.made(), self.costs(), proven=True)

    def named(self) -> dict:
        """{name: value} of all fields."""
        return asdict(self)


@lru_cache(maxsize=8)  # a slider of times or of the network asks for the same one again and again
def _made(name: str, ranks: int, micro_batches: int, chunks: int | None, count: int) -> Schedule:
    sizes = (ranks, micro_batches) if chunks is None else (ranks, micro_batches, chunks)
    schedule = SCHEDULES[name](*sizes)
    return check(schedule if count == 1 else waves(schedule, count))


@dataclass(frozen=True)
class Control:
    """A slider or a list: `values` from left to right, None is "no limit"."""

    key: str
    label: str
    unit: str
    values: tuple
    group: str
    hint: str = ""
    only: tuple[str, ...] = ()  # the schedules that it belongs to; (): all


_TIMES = (*range(0, 20), *range(20, 50, 2), *range(50, 101, 5))
_ROOM = (*range(100, 2000, 100), *range(2000, 16001, 1000), None)
CONTROLS = (
    Control("schedule", "schedule", "", tuple(SCHEDULES), "schedule"),
    Control("ranks", "ranks", "", tuple(range(1, 17)), "schedule", "devices in a row"),
    Control("micro_batches", "micro-batches", "", tuple(range(1, 129)), "schedule", "of one wave"),
    Control("chunks", "stages of a rank", "", (1, 2, 3, 4, 6, 8), "schedule", only=WITH_CHUNKS),
    Control("waves", "waves", "", (1, 2, 3, 4), "schedule", "the pipeline is empty between two"),
    Control("forward", "F forward", "ms", _TIMES, "time"),
    Control("input_grad", "I input grad.", "ms", _TIMES, "time", "B = I + W"),
    Control("weight_grad", "W weight grad.", "ms", _TIMES, "time", "B = I + W"),
    Control("latency", "latency", "ms", (0, 0.1, 0.2, 0.5, *range(1, 31)), "network"),
    Control(
        "bandwidth",
        "bandwidth",
        "GB/s",
        (0.1, 0.2, 0.5, 1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 100, 200, 400, 900, None),
        "network",
    ),
    Control("message", "message", "MB", (0, 1, 2, 5, *range(10, 101, 5), 150, 200, 500), "network"),
    Control("activation", "activations", "MB", (0, 10, *range(20, 501, 20)), "memory"),
    Control("limit", "memory limit", "MB", _ROOM, "memory"),
)


def controls(settings: Settings) -> list[dict]:
    """The controls as data for the page; a value of the settings that is not in a list joins it."""
    rows = []
    for control in CONTROLS:
        values, value = list(control.values), getattr(settings, control.key)
        if value not in values:
            values = sorted([v for v in values if v is not None] + [value])
            values += [None] * (None in control.values)
        rows.append(asdict(control) | {"values": values, "value": value})
    return rows


def checked(wanted: dict) -> Settings:
    """The settings of these names; TypeError, one sentence, for a name that there is not."""
    known = [field.name for field in fields(Settings)]
    for name in wanted:
        if name not in known:
            raise TypeError(f"explore() has no setting {name!r}: choose from {', '.join(known)}")
    return Settings(**wanted)
