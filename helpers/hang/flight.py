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


def read(rank: int) -> tuple[dict[str, int], dict[str, Operation]]:
    """Return what this process, which is rank `rank`, has recorded; nothing without a recorder.

    Of each group, how many collectives it has started; and the oldest that has not ended.
    """
    started: dict[str, int] = {}
    unended: dict[str, Operation] = {}
    try:
        entries = json.loads(private.flight_record()).get("entries", [])
    except (ImportError, AttributeError, RuntimeError, ValueError):
        return started, unended
    members = private.members_of_groups()
    for entry in entries:
        group, number = entry["process_group"][0], entry["collective_seq_id"]
        if entry.get("is_p2p"):
            continue
        if number < started.get(group, 0):  # the program has begun again, with new groups
            unended.pop(group, None)
        started[group] = number
        if not entry["retired"] and group not in unended:
            name = NATIVE + entry["profiling_name"].split(":")[-1]
            shape, dtype = (*entry["input_sizes"], ())[0], (*entry["input_dtypes"], "")[0]
            facts = {"shape": tuple(shape), "dtype": _DTYPES.get(dtype, ""), "index": number - 1}
            unended[group] = Operation(
                name, rank, group=group, members=members.get(group, ()), **facts
            )
    return started, unended
