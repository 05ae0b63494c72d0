"""What each launcher leaves in the environment of a process, read as four numbers.

The variables are documented by torchrun, Open MPI, Intel MPI and MPICH (Hydra), MVAPICH, HPE's
Parallel Application Launch Service (PALS) and Slurm's srun.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

LARGEST_STEP = 0xFFFFFF00  # above it Slurm numbers a batch script or a shell


class PlaceError(ValueError):
    """The rank or the world size is invalid; the message says why and what to do."""


@dataclass(frozen=True)
class Launcher:
    """The variables in which one launcher tells a process its place; the first one set counts.

    source: its name for --rank-source.
    """

    name: str
    source: str
    rank: tuple[str, ...]
    world_size: tuple[str, ...]
    local_rank: tuple[str, ...]
    local_world_size: tuple[str, ...]


@dataclass(frozen=True)
class Counts:
    """What one launcher says; local_world_size is None if it doesn't say.

    variable: the variable that holds the rank, with its value, as in "RANK=3".
    """

    name: str
    source: str
    variable: str
    rank: int
    world_size: int
    local_rank: int
    local_world_size: int | None

    def require_same(self, inner: "Counts", cure: str) -> None:
        """Raise PlaceError if another launcher says that this process is another rank."""
        if (self.rank, self.world_size) != (inner.rank, inner.world_size):
            raise PlaceError(
                f"{self.variable}, from {self.name}, says that this process is rank {self.rank} of "
                f"{self.world_size}, and {inner.variable}, from {inner.name}, that it is rank "
                f"{inner.rank} of {inner.world_size}: {cure}"
            )


RANKS = Launcher(
    "helpers.ranks",
    "ranks",
    ("LAB_RANK",),
    ("LAB_WORLD_SIZE",),
    ("LAB_RANK",),
    ("LAB_WORLD_SIZE",),
)
TORCHRUN = Launcher(
    "torchrun", "env", ("RANK",), ("WORLD_SIZE",), ("LOCAL_RANK",), ("LOCAL_WORLD_SIZE",)
)
SLURM = Launcher(
    "Slurm",
    "slurm",
    ("SLURM_PROCID",),
    ("SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"),
    ("SLURM_LOCALID",),
    ("SLURM_STEP_TASKS_PER_NODE", "SLURM_NTASKS_PER_NODE"),
)
# It starts programs built with MPICH, so it leaves MPICH's variables too.
PALS = Launcher(
    "PALS",
    "pals",
    ("PALS_RANKID",),
    ("PALS_SIZE", "PMI_SIZE", "WORLD_SIZE"),
    ("PALS_LOCAL_RANKID",),
    ("PALS_LOCAL_SIZE", "PMI_LOCAL_SIZE", "LOCAL_WORLD_SIZE"),
)
# The innermost launcher comes first: torchrun, for example, may itself run below srun.
LAUNCHERS = (
    RANKS,
    TORCHRUN,
    Launcher(
        "MPI",
        "mpi",
        ("OMPI_COMM_WORLD_RANK", "MV2_COMM_WORLD_RANK"),
        ("OMPI_COMM_WORLD_SIZE", "MV2_COMM_WORLD_SIZE"),
        ("OMPI_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_LOCAL_RANK"),
        ("OMPI_COMM_WORLD_LOCAL_SIZE", "MV2_COMM_WORLD_LOCAL_SIZE"),
    ),
    PALS,
    Launcher(
        "MPI",
        "mpi",
        ("PMI_RANK",),
        ("PMI_SIZE",),
        ("MPI_LOCALRANKID", "PMI_LOCAL_RANK"),
        ("MPI_LOCALNRANKS", "PMI_LOCAL_SIZE"),
    ),
    SLURM,
)


def read_launcher(launcher: Launcher, environ: Mapping[str, str]) -> Counts | None:
    """Return what a launcher says in this environment; None if it did not start this process.

    Raises:
        PlaceError: if a variable is not a number, or out of range.
    """
    rank, size = (_first(names, environ) for names in (launcher.rank, launcher.world_size))
    if not (rank and size) or (launcher is SLURM and not is_slurm_step(environ)):
        return None
    name = launcher.name
    if launcher is TORCHRUN and not environ.get("TORCHELASTIC_RUN_ID"):
        name = "the environment"  # set by hand, by a script, or by a launcher
    world_size = whole_number(environ[size], size)
    number = rank_in_range(environ[rank], world_size, rank)
    local = _first(launcher.local_rank, environ)
    local_number = whole_number(environ[local], local) if local else number
    local_size = _local_size(launcher, environ)
    if launcher is SLURM and local_size is not None:
        local_size = max(
            local_size, local_number + 1
        )  # it lists the nodes of the job, not of the step
    if local and local_size is not None and not 0 <= local_number < local_size <= world_size:
        which = _first(launcher.local_world_size, environ)
        raise PlaceError(
            f"{local}={local_number}, {which}={environ[which]} and {size}={world_size} contradict "
            "each other: the ranks of one machine count from 0, and they are a part of all; let "
            f"the launcher set them, and type 'unset {local} {which}' before it starts"
        )
    variable = f"{rank}={environ[rank]}"
    return Counts(name, launcher.source, variable, number, world_size, local_number, local_size)


def refuse_one_half(environ: Mapping[str, str]) -> None:
    """Raise PlaceError if the rank is set without the world size, or the other way round."""
    for launcher in LAUNCHERS:
        rank, size = (_first(names, environ) for names in (launcher.rank, launcher.world_size))
        if launcher in (TORCHRUN, PALS) and rank and not size:
            raise PlaceError(
                f"{rank}={environ[rank]} is set, and {launcher.world_size[-1]} is not, so this "
                f"process does not know how many there are: set WORLD_SIZE, or type 'unset {rank}'"
            )
        if launcher is TORCHRUN and size and not rank:
            raise PlaceError(
                f"WORLD_SIZE={environ[size]} is set, and RANK is not, so this process does not "
                "know which one it is: set RANK, or type 'unset WORLD_SIZE'"
            )


def whole_number(text: str | int, what: str) -> int:
    """Return `text` as an integer; raise PlaceError, which names `what`, if it isn't one."""
    try:
        return int(str(text))
    except ValueError:
        raise PlaceError(f"{what} must be a whole number, not {str(text)!r}") from None


def rank_in_range(text: str | int, size: int, what: str) -> int:
    """Return `text` as a rank below `size`; raise PlaceError, which names `what`, if it isn't."""
    rank = whole_number(text, what)
    if not 0 <= rank < size:
        last = f"a whole number from 0 to {size - 1}" if size > 1 else "0"
        raise PlaceError(f"{what} must be {last}, because the world size is {size}; it is {text!s}")
    return rank


def _first(names: tuple[str, ...], environ: Mapping[str, str]) -> str | None:
    return next((name for name in names if environ.get(name)), None)


def _local_size(launcher: Launcher, environ: Mapping[str, str]) -> int | None:
    name = _first(launcher.local_world_size, environ)
    if name is None:
        return None
    if launcher is not SLURM:
        return whole_number(environ[name], name)
    counts = tasks_of_each_node(environ[name])
    if not counts:
        raise PlaceError(f"{name} must be like 4, 4(x2) or 4(x2),3, not {environ[name]!r}")
    node = whole_number(environ.get("SLURM_NODEID") or 0, "SLURM_NODEID")
    return counts[min(node, len(counts) - 1)]


def is_slurm_step(environ: Mapping[str, str]) -> bool:
    """Return whether srun started this process.

    Its variables also exist in a batch script and in a shell inside an allocation, which srun did
    not start; only a job step with an ordinary number (0, 1, …) counts.
    """
    step = environ.get("SLURM_STEP_ID", "")
    return step.isdigit() and int(step) < LARGEST_STEP


def tasks_of_each_node(text: str) -> list[int]:
    """Expand Slurm's short form: "4(x2),3" -> [4, 4, 3]; an empty list if it can't be parsed."""
    counts = []
    for part in text.split(","):
        found = re.fullmatch(r"(\d+)(?:\(x(\d+)\))?", part.strip())
        if not found:
            return []
        counts += [int(found[1])] * int(found[2] or 1)
    return counts


def first_host(names: str) -> str:
    """Return the first host of a list: "node[03-05,9],gpu1" -> "node03"."""
    first = re.match(r"(?:[^,\[]|\[[^\]]*\])*", names.strip()).group()
    return re.sub(r"\[([^\],-]*)[^\]]*\]", r"\1", first)
