"""Where a process stands: its rank, the world size, and who started it.

A rank can be started by a person (``python script.py 1``), by ``helpers.ranks``, by
``torchrun``, by Slurm's ``srun`` or by ``mpiexec``.  Each leaves its own environment
variables.  `find_place` reads them, so that one script runs under all of them.
"""

import os
import zlib
from collections.abc import Mapping
from dataclasses import dataclass

DEFAULT_ADDRESS = "localhost"
DEFAULT_PORT = 29500


class PlaceError(ValueError):
    """The rank or the world size makes no sense; the message says why and what to do."""


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
    launcher: str = "by hand"


@dataclass(frozen=True)
class Launcher:
    """The environment variables in which one launcher tells a process its place."""

    name: str
    rank: str
    world_size: str
    local_rank: str
    local_world_size: str


# The order matters: torchrun may itself run below srun, so the innermost launcher comes first.
LAUNCHERS = (
    Launcher("helpers.ranks", "LAB_RANK", "LAB_WORLD_SIZE", "LAB_RANK", "LAB_WORLD_SIZE"),
    Launcher("torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"),
    Launcher(
        "MPI",
        "OMPI_COMM_WORLD_RANK",
        "OMPI_COMM_WORLD_SIZE",
        "OMPI_COMM_WORLD_LOCAL_RANK",
        "OMPI_COMM_WORLD_LOCAL_SIZE",
    ),
    Launcher("MPI", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"),
    Launcher("Slurm", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", "SLURM_NTASKS_PER_NODE"),
)


def find_place(
    argument: str | int | None = None,
    world_size: int | None = None,
    environ: Mapping[str, str] | None = None,
    default_world_size: int = 1,
) -> Place:
    """The place of this process.

    argument: the rank that a person gave on the command line, or None.
    world_size: the number of ranks that a person asked for, or None.
    environ: the environment to read; by default this process's own.
    default_world_size: the number of ranks where neither a person nor a launcher said one.

    Raises PlaceError, with one sentence, for a rank or a world size that makes no sense.
    """
    environ = os.environ if environ is None else environ
    launcher = _launcher_of(environ)
    if launcher is None:
        return _by_hand(argument, world_size, environ, default_world_size)

    size = _whole(environ[launcher.world_size], launcher.world_size)
    rank = _in_range(environ[launcher.rank], size, launcher.rank)
    if argument is not None and _in_range(argument, size, "the rank") != rank:
        raise PlaceError(
            f"this process was called with rank {argument}, but {launcher.name} says that it is "
            f"rank {rank} ({launcher.rank}={rank}); leave the rank away, {launcher.name} gives it"
        )
    if world_size is not None and world_size != size:
        raise PlaceError(
            f"the script was asked for {world_size} ranks, but {launcher.name} started {size} "
            f"({launcher.world_size}={size}); ask both for the same number"
        )
    local_rank = _whole(environ.get(launcher.local_rank, str(rank)), launcher.local_rank)
    local_size = _whole(
        environ.get(launcher.local_world_size, "").split("(")[0] or str(size),
        launcher.local_world_size,
    )
    address, port = _rendezvous(environ, launcher)
    return Place(rank, size, local_rank, local_size, address, port, launcher.name)


def usable_cores() -> int:
    """The cores that this process may use: fewer than the machine has where a limit is set."""
    if hasattr(os, "process_cpu_count"):  # Python 3.13 and later
        return os.process_cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _launcher_of(environ: Mapping[str, str]) -> Launcher | None:
    """The innermost launcher whose rank and world size both stand in the environment.

    Inside an interactive Slurm allocation the variables exist although nothing was started by
    srun; only a job step numbered by srun ("SLURM_STEP_ID" 0, 1, …) counts.
    """
    for launcher in LAUNCHERS:
        if launcher.rank not in environ or launcher.world_size not in environ:
            continue
        if launcher.name == "Slurm" and not environ.get("SLURM_STEP_ID", "").isdigit():
            continue
        return launcher
    return None


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
    rank = _in_range(argument, size, "the rank")
    address = environ.get("MASTER_ADDR", DEFAULT_ADDRESS)
    return Place(rank, size, rank, size, address, _port(environ), "by hand")


def _in_range(text: str | int, size: int, what: str) -> int:
    """`text` as a rank from 0 to size - 1."""
    rank = _whole(text, what)
    if not 0 <= rank < size:
        last = f"a whole number from 0 to {size - 1}" if size > 1 else "0"
        raise PlaceError(f"{what} must be {last}, because the world size is {size}; it is {text!s}")
    return rank


def _whole(text: str | int, what: str) -> int:
    try:
        return int(str(text))
    except ValueError:
        raise PlaceError(f"{what} must be a whole number, not {str(text)!r}") from None


def _port(environ: Mapping[str, str]) -> int:
    port = _whole(environ.get("MASTER_PORT", DEFAULT_PORT), "MASTER_PORT")
    if not 0 < port < 65536:
        raise PlaceError(f"MASTER_PORT must be a number from 1 to 65535, not {port}")
    return port


def _rendezvous(environ: Mapping[str, str], launcher: Launcher) -> tuple[str, int]:
    """Address and port of rank 0: as set, else what the launcher lets us work out."""
    address = environ.get("MASTER_ADDR") or _first_host(environ) or DEFAULT_ADDRESS
    if "MASTER_PORT" in environ or launcher.name in ("helpers.ranks", "torchrun"):
        return address, _port(environ)
    # Every process of one job must find the same port, and two jobs on one machine must not
    # share it: so it is computed from the name of the job.
    job = environ.get("SLURM_JOB_ID", "") + environ.get("PMIX_NAMESPACE", "")
    return address, 20000 + zlib.crc32(job.encode()) % 20000 if job else DEFAULT_PORT


def _first_host(environ: Mapping[str, str]) -> str | None:
    """The first host of a Slurm job: "node[03-05,9],gpu1" -> "node03"."""
    names = environ.get("SLURM_STEP_NODELIST") or environ.get("SLURM_JOB_NODELIST")
    if not names:
        return None
    if "[" not in names.split(",")[0]:
        return names.split(",")[0]
    prefix, rest = names.split("[", 1)
    return prefix + rest.replace("]", ",").replace("-", ",").split(",")[0]
