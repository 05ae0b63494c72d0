"""Collectives that start inside C++, as torch's flight recorder saw them.

DDP starts its all-reduces from C++, where no Python function can be wrapped. Torch's own flight
recorder sees the collectives of every backend (not the messages, and not the lines of code). It
keeps as many as TORCH_FR_BUFFER_SIZE says when torch is imported, or 2,000; 0 turns it off.
"""

import json

from helpers import private
from helpers.hang.operation import NATIVE, Operation

_DTYPES = {"Float": "float32", "Double": "float64", "Half": "float16", "BFloat16": "bfloat16"}
_DTYPES |= {"Long": "int64", "Int": "int32", "Byte": "uint8", "Bool": "bool"}


def read(rank: int) -> dict[str, tuple[int, Operation | None]]:
    """Return what this process, which is rank `rank`, has recorded; nothing without a recorder.

    Of each group: how many collectives it has started, and the oldest that has not ended.
    """
    found: dict[str, tuple[int, Operation | None]] = {}
    try:
        entries = json.loads(private.flight_record()).get("entries", [])
    except (ImportError, AttributeError, RuntimeError, ValueError):
        return found
    members = private.members_of_groups()
    for entry in entries:
        if entry.get("is_p2p"):
            continue
        group, number = entry["process_group"][0], entry["collective_seq_id"]
        started, oldest = found.get(group, (0, None))
        if number < started:  # the program has begun again, with new groups
            oldest = None
        if not entry["retired"] and not oldest:
            shape, dtype = (*entry["input_sizes"], ())[0], (*entry["input_dtypes"], "")[0]
            oldest = Operation(
                NATIVE + entry["profiling_name"].split(":")[-1], rank, group=group,
                members=members.get(group, ()), index=number - 1, shape=tuple(shape),
                dtype=_DTYPES.get(dtype, ""),
            )  # fmt: skip
        found[group] = number, oldest
    return found
