"""LA-1: find the rank in the environment."""

import random

HINTS = (
    "What does a launcher set, and what is there if none has started this process? What is the "
    "type of a value of os.environ? Which of several launchers started the process itself, and "
    "which only started another launcher? And which variables could be left over?",
    "Collect what each of LAUNCHERS says, as integers, if rank and world size are there. The "
    "first decides; a local rank that is missing is the rank; none: rank 0 of 1. A rank below 0, "
    "or not below the world size, is a ValueError, and so is a RANK without SET_BY_TORCHRUN whose "
    "(rank, world size) differs from another launcher's.",
)
NAME = "{0}"
LESSON, MINUTES = "beyond_one_machine", 25
NAMES = {  # of each launcher, the innermost first
    "torchrun": ("RANK", "WORLD_SIZE", "LOCAL_RANK"),
    "Open MPI": ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"),
    "PALS": ("PALS_RANKID", "PMI_SIZE", "PALS_LOCAL_RANKID"),
    "Slurm": ("SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"),
}


def observe(module, case):
    """What the work returns for one environment, or what it raises; an error names the rank."""
    environ = case[1]
    try:
        return {"raises": "nothing", "returns": module.from_environment(dict(environ))}
    except NotImplementedError:
        raise
    except ValueError as error:
        known = [rank for rank, size, _ in NAMES.values() if {rank, size} <= environ.keys()]
        here = known[0] if known else "no rank"
        said = f"which names {here}" if here in str(error) else repr(str(error))
        return {"raises": f"ValueError, {said}", "returns": "nothing"}
    except Exception as error:
        return {"raises": f"{type(error).__name__}: {error}", "returns": "nothing"}


def says(launcher, *numbers, mark=True):
    """The variables of a launcher; None leaves one away. mark: torchrun itself has set them."""
    named = zip(NAMES[launcher], numbers, strict=True)
    found = {name: str(number) for name, number in named if number is not None}
    return found | ({"TORCHELASTIC_RUN_ID": "none"} if mark and launcher == "torchrun" else {})


def cases():
    """(what it is, the environment)."""
    found = []
    for launcher in NAMES:
        each, nodes = random.randint(2, 6), random.randint(2, 5)
        for rank in (0, random.randrange(each, each * nodes)):
            words = f"started by {launcher} as rank {rank} of {each * nodes}"
            found.append((words, says(launcher, rank, each * nodes, rank % each)))
    n = random.randint(3, 9)
    mpi = random.randrange(1, n)
    by_hand = "RANK was set by hand, and"
    left_over = "RANK=0 was left over, and {} says something else"
    return [
        *found,
        ("PALS left no local rank, so all ranks are on one machine", says("PALS", n - 1, n, None)),
        ("torchrun was started by Slurm: believe torchrun, which started you",
         says("Slurm", 1, 2, 0) | says("torchrun", n, 2 * n, 1)),
        ("RANK is there and WORLD_SIZE is not: believe the next launcher that says both",
         says("Slurm", 1, n, 1) | says("torchrun", 2, None, 0)),
        ("no launcher is there: this process is alone", {}),
        (f"rank {n} of {n} cannot be", says("torchrun", n, n, 0)),
        (f"rank {n + 3} of {n} cannot be", says("Slurm", n + 3, n, 0)),
        (f"rank -1 of {n} cannot be", says("Open MPI", -1, n, 0)),
        (f"{by_hand} no launcher contradicts it", says("torchrun", 1, n, 1, mark=False)),
        (f"{by_hand} Open MPI says the same",
         says("Open MPI", mpi, n, mpi) | says("torchrun", mpi, n, 0, mark=False)),
        (left_over.format("Open MPI"),
         says("Open MPI", mpi, n, mpi) | says("torchrun", 0, 1, 0, mark=False)),
        (left_over.format("Slurm"),
         says("Slurm", mpi, n, mpi) | says("torchrun", 0, n, 0, mark=False)),
        (left_over.format("PALS"),
         says("PALS", 0, n, 0) | says("torchrun", 0, 1, 0, mark=False)),
    ]  # fmt: skip


MUTANTS = {
    ("says != [rank, world_size]", "False"): "a RANK that was left over is believed, and four "
    "ranks train alone: without TORCHELASTIC_RUN_ID, raise ValueError if another launcher says "
    "something else",
    ("in LAUNCHERS:", "in LAUNCHERS[::-1]:"): "this is the outermost launcher: go through "
    "LAUNCHERS from the first, the innermost one",
    ("in LAUNCHERS:", "in LAUNCHERS[:1]:"): "only torchrun's variables are looked at: go through "
    "all of LAUNCHERS",
    ("rank < world", "rank <= world"): "a rank is below the world size: they count from 0",
    ("not 0 <= rank <", "not rank <"): "a rank below 0 comes back as it is: raise ValueError",
    ("not found and not 0 <= rank < world_size", "False"): "what cannot be comes back as it is: "
    "raise ValueError",
    ("if rank_name in environ and", "if int(environ.get(rank_name, 0)) and"): "rank 0 is taken for "
    "no rank at all: 0 is a number, and not nothing",
    ("get(local_name, rank)", "get(local_name, 0)"): "all get the local rank 0: on one machine, "
    "the local rank is the rank itself",
    ("not in environ:", "not in environ:\n    raise ValueError(name)"): "a RANK without "
    "TORCHELASTIC_RUN_ID is refused though nobody contradicts it: people set it by hand, too",
    (" and SET_BY_TORCHRUN not in environ", ""): "torchrun is refused below another launcher: it "
    "set TORCHELASTIC_RUN_ID, so believe it",
}


def explain(case, seen):
    found, raised = seen["returns"], seen["raises"]
    if raised.startswith("ValueError, '"):
        return f"name the variable with the rank in the message, not only {raised[12:]}"
    if raised != "nothing":
        cure = "raise ValueError: " * case[0].endswith(("cannot be", "something else"))
        return None if "which names" in raised else f"{cure}this raises {raised} ({case[1]})"
    if not isinstance(found, tuple | list) or len(found) != 3:
        return f"give three numbers: rank, world size, local rank; not {found!r}"
    if any(isinstance(number, str) for number in found):
        return f"give whole numbers, not text: {found!r}; as text, '10' comes before '9'"
