"""The place of one process among all ranks, and how many cores it may use."""

import os
from dataclasses import dataclass

BY_HAND = "by hand"
DEFAULT_ADDRESS = "localhost"
DEFAULT_PORT = 29500


@dataclass(frozen=True)
class Place:
    """One process among `world_size`.

    `local_rank` counts the ranks of this machine only, from 0; it chooses the GPU.
    `address` and `port` are where rank 0 listens while all ranks find each other.
    """

    rank: int
    world_size: int
    local_rank: int
    local_world_size: int
    address: str = DEFAULT_ADDRESS
    port: int = DEFAULT_PORT
    launcher: str = BY_HAND


def usable_cores() -> int:
    """Return how many cores this process may use: under a limit, fewer than the machine has."""
    if hasattr(os, "process_cpu_count"):  # Python 3.13 and later
        return os.process_cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
