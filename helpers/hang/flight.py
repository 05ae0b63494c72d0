"""Collectives that start inside C++, as torch's flight recorder saw them.

DDP starts its all-reduces from C++, where no Python function can be wrapped. Torch's own flight
recorder sees the collectives of every backend (not the messages, and not the lines of code). It
keeps as many as TORCH_FR_BUFFER_SIZE says when torch is imported, or 2,000; 0 turns it off.
"""

import json
from dataclasses import dataclass, field

from helpers import private

_DTYPES = {"Float": "float32", "Double": "float64", "Half": "float16", "BFloat16": "bfloat16"}
_DTYPES |= {"Long": "int64", "Int": "int32", "Byte": "uint8", "Bool": "bool"}


@dataclass(frozen=True)
class Flight:
    """What the recorder knows. Groups are named as in `Operation.group`.

    started: group -> how many collectives this rank has started. open: group -> (number, from 1;
    name, "all_reduce"; shape; dtype) of the oldest that has not ended. members: group -> its ranks.
    """

    started: dict[str, int] = field(default_factory=dict)
    open: dict[str, tuple[int, str, tuple[int, ...], str]] = field(default_factory=dict)
    members: dict[str, tuple[int, ...]] = field(default_factory=dict)


def read() -> Flight | None:
    """Return what this process has recorded, or None if this torch has no recorder."""
    try:
        facts = json.loads(private.flight_record())
    except (ImportError, AttributeError, RuntimeError, ValueError):
        return None
    flight = Flight(members=private.members_of_groups())
    for entry in facts.get("entries", []):
        group, number = entry["process_group"][0], entry["collective_seq_id"]
        if entry.get("is_p2p"):
            continue
        if number < flight.started.get(group, 0):  # the program has begun again, with new groups
            flight.open.pop(group, None)
        flight.started[group] = number
        if not entry["retired"] and group not in flight.open:
            name = entry["profiling_name"].split(":")[-1]
            shape, dtype = (*entry["input_sizes"], ())[0], (*entry["input_dtypes"], "")[0]
            flight.open[group] = (number, name, tuple(shape), _DTYPES.get(dtype, ""))
    return flight
