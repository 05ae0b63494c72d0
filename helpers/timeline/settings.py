"""A schedule and its costs as sliders show them, and the picture of any setting.

Nothing here needs a notebook: a page in a browser asks the same questions.
"""

import math
from dataclasses import asdict, dataclass, fields
from functools import lru_cache

from helpers.schedules import SCHEDULES, Schedule, check, waves
from helpers.simulate import Costs, Simulated, simulate
from helpers.timeline.simulated import simulated_table
from helpers.timeline.table import Panel, pack
from helpers.words import listed, percent, time_text

MS, MB, GB = 1e-3, 1e6, 1e9
WITH_CHUNKS = tuple(name for name, each in SCHEDULES.items() if each.chunked)


@dataclass(frozen=True)
class Settings:
    """A schedule and what it costs, in the units that the sliders show.

    schedule: a name of `SCHEDULES`. chunks: stages of a rank, for `WITH_CHUNKS`. waves: how often
    the schedule is repeated, each time for other micro-batches.
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
        """Return the schedule.

        Raises:
            ValueError: if there is no such name or size.
        """
        if self.schedule not in SCHEDULES:
            raise ValueError(
                f"no schedule {self.schedule!r}: choose one of {', '.join(map(repr, SCHEDULES))}"
            )
        return _made(self.schedule, self.ranks, self.micro_batches, self.chunks, self.waves)

    def costs(self) -> Costs:
        """Return the costs in seconds and bytes."""
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
        """Return one simulated step. Raises as `simulate` does."""
        return simulate(self.made(), self.costs(), proven=True)

    def named(self) -> dict:
        """Return {name: value} of all fields."""
        return asdict(self)


@lru_cache(maxsize=8)  # sliders of times and of the network keep asking for the same one
def _made(name: str, ranks: int, micro_batches: int, chunks: int, count: int) -> Schedule:
    schedule = SCHEDULES[name].made(ranks, micro_batches, chunks)
    return check(schedule if count == 1 else waves(schedule, count))


@dataclass(frozen=True)
class Control:
    """A slider or a list: `values` from left to right; None means "no limit"."""

    key: str
    label: str
    unit: str
    values: tuple
    group: str
    hint: str = ""
    only: tuple[str, ...] = ()  # the schedules that have it; (): all


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
    """Return the controls as data for the page, with the values of the settings among theirs."""
    rows = []
    for control in CONTROLS:
        values, value = list(control.values), getattr(settings, control.key)
        if value not in values:
            values = sorted([v for v in values if v is not None] + [value])
            values += [None] * (None in control.values)
        rows.append(asdict(control) | {"values": values, "value": value})
    return rows


def checked_settings(wanted: dict) -> Settings:
    """Return these settings.

    Raises:
        TypeError: if there is no setting of a name.
    """
    known = [field.name for field in fields(Settings)]
    for name in wanted:
        if name not in known:
            raise TypeError(f"explore() has no setting {name!r}: choose from {', '.join(known)}")
    return Settings(**wanted)


def answer(done: Simulated) -> dict:
    """Return a simulated step in the form that the page expects."""
    title = f"{done.schedule!r}, {time_text(done.step_time)}: bubble {percent(done.bubble())}"
    head, body = pack([Panel("", title, simulated_table(done))], title, _in_words(title, done))
    return {"head": head, "body": body, "problem": ""}


def _in_words(title: str, done: Simulated) -> str:
    if len(done.busy) > 8 or not done.step_time:
        return f"Timeline. {title}."
    rows = [f"rank {r} computes {percent(b / done.step_time)}" for r, b in enumerate(done.busy)]
    return f"Timeline. {title}. Of {time_text(done.step_time)}, {listed(rows)}."
