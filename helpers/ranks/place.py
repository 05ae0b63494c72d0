"""The place of a process: what a person said on the command line, and what its launcher said."""

import os
from collections.abc import Mapping

from helpers.ranks.discover import BY_HAND, Place, discover
from helpers.ranks.launchers import PlaceError, in_range
from helpers.ranks.rendezvous import DEFAULT_ADDRESS, port_of

__all__ = ["Place", "PlaceError", "find_place", "usable_cores"]


def find_place(
    argument: str | int | None = None,
    world_size: int | None = None,
    environ: Mapping[str, str] | None = None,
    default_world_size: int = 1,
    source: str = "auto",
) -> Place:
    """The place of this process.

    argument: the rank that a person gave on the command line, or None.
    world_size: the number of ranks that a person asked for, or None.
    environ: the environment to read; by default this process's own.
    default_world_size: the number of ranks where neither a person nor a launcher said one.
    source: whom to believe, as in `discover`.

    Raises PlaceError, with one sentence, for a rank or a world size that makes no sense.
    """
    environ = os.environ if environ is None else environ
    place = discover(source, environ)
    if place.launcher == BY_HAND:
        return _by_hand(argument, world_size, environ, default_world_size)
    if argument is not None and in_range(argument, place.world_size, "the rank") != place.rank:
        raise PlaceError(
            f"this process was called with rank {argument}, but {place.launcher} says that it is "
            f"rank {place.rank}; leave the rank away, {place.launcher} gives it"
        )
    if world_size is not None and world_size != place.world_size:
        raise PlaceError(
            f"the script was asked for {world_size} ranks, but {place.launcher} started "
            f"{place.world_size}; ask both for the same number"
        )
    return place


def usable_cores() -> int:
    """The cores that this process may use: fewer than the machine has where a limit is set."""
    if hasattr(os, "process_cpu_count"):  # Python 3.13 and later
        return os.process_cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _by_hand(
    argument: str | int | None,
    world_size: int | None,
    environ: Mapping[str, str],
    default_world_size: int,
) -> Place:
    size = default_world_size if world_size is None else world_size
    if size < 1:
        raise PlaceError(f"the world size must be 1 or more, not {size}")
    if argument is None:
        if size > 1:
            raise PlaceError(
                f"this script needs its rank, a whole number from 0 to {size - 1}: start one "
                f"process for each, or all at once with: python -m helpers.ranks -n {size} SCRIPT"
            )
        argument = 0
    rank = in_range(argument, size, "the rank")
    address = environ.get("MASTER_ADDR") or DEFAULT_ADDRESS
    return Place(rank, size, rank, size, address, port_of(environ), BY_HAND)
