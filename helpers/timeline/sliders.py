"""A schedule and its costs as sliders show them, in ms, MB and GB/s, and the simulation of it.

Nothing here needs a notebook: a page in a browser asks the same questions.
"""

import math

from helpers.schedules import SCHEDULES, check
from helpers.simulate import Costs, Simulated, simulate

MS, MB, GB = 1e-3, 1e6, 1e9
NO_LIMIT = None  # of a bandwidth or of memory, as JSON can hold it
_TIMES = (*range(0, 20), *range(20, 51, 2))
_BANDWIDTHS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 400, 900, NO_LIMIT)
_ROOM = (*range(100, 2000, 100), *range(2000, 16001, 1000), NO_LIMIT)
SLIDERS = {  # name: (words, where it starts, values from left to right)
    "ranks": ("ranks", 4, range(1, 17)),
    "micro_batches": ("micro-batches", 8, range(1, 65)),
    "chunks": ("stages of a rank", 2, (1, 2, 3, 4, 6, 8)),
    "forward": ("F, ms", 10, _TIMES),
    "input_grad": ("I, ms (B = I + W)", 10, _TIMES),
    "weight_grad": ("W, ms", 10, _TIMES),
    "latency": ("latency, ms", 0, (0, 0.1, 0.2, 0.5, *range(1, 31))),
    "bandwidth": ("bandwidth, GB/s", NO_LIMIT, _BANDWIDTHS),
    "message": ("message, MB", 10, (0, 1, 2, 5, *range(10, 101, 5), 150, 200, 500)),
    "activation": ("activations, MB", 100, (0, 10, *range(20, 501, 20))),
    "limit": ("memory limit, MB", NO_LIMIT, _ROOM),
}
START = {"schedule": "1F1B"} | {name: start for name, (_, start, _) in SLIDERS.items()}


def controls(settings: dict) -> list[dict]:
    """Return the controls as the page builds them, with the values of the settings among theirs.

    only: the schedules that have the control; of all others it's hidden.
    """
    chunked = [name for name, each in SCHEDULES.items() if each.chunked]
    rows = [{"name": "schedule", "label": "schedule", "values": list(SCHEDULES), "only": []}]
    for name, (label, _, choices) in SLIDERS.items():
        values, value = list(choices), settings[name]
        if value not in values:
            values = sorted([each for each in values if each is not None] + [value])
            values += [NO_LIMIT] * (NO_LIMIT in choices)
        only = chunked if name == "chunks" else []
        rows.append({"name": name, "label": label, "values": values, "only": only})
    return rows


def simulated(settings: dict) -> Simulated:
    """Simulate one step.

    Raises:
        TypeError: for a setting that isn't in `START`.
        ValueError: for an unknown schedule, or as `simulate` does.
    """
    for name in settings:
        if name not in START:
            raise TypeError(f"explore() has no setting {name!r}: choose from {', '.join(START)}")
    s = START | settings
    if s["schedule"] not in SCHEDULES:
        known = ", ".join(map(repr, SCHEDULES))
        raise ValueError(f"no schedule {s['schedule']!r}: choose one of {known}")
    schedule = SCHEDULES[s["schedule"]].made(s["ranks"], s["micro_batches"], s["chunks"])
    costs = Costs(
        forward=s["forward"] * MS,
        input_grad=s["input_grad"] * MS,
        weight_grad=s["weight_grad"] * MS,
        latency=s["latency"] * MS,
        bandwidth=math.inf if s["bandwidth"] is None else s["bandwidth"] * GB,
        message_bytes=s["message"] * MB,
        activation_bytes=s["activation"] * MB,
        memory_limit=None if s["limit"] is None else s["limit"] * MB,
    )
    return simulate(check(schedule), costs, proven=True)
