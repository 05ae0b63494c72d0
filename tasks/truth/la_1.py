"""LA-1: the innermost launcher that says both rank and world size decides.

RANK and WORLD_SIZE without torchrun's mark may be leftovers: if another launcher contradicts them,
that is an error.
"""

import random

from helpers.grade.verify import same

NAMES = {
    "torchrun": ("RANK", "WORLD_SIZE", "LOCAL_RANK"),
    "Open MPI": (
        "OMPI_COMM_WORLD_RANK",
        "OMPI_COMM_WORLD_SIZE",
        "OMPI_COMM_WORLD_LOCAL_RANK",
    ),
    "PALS": ("PALS_RANKID", "PMI_SIZE", "PALS_LOCAL_RANKID"),
    "Slurm": ("SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"),
}
MARK = "TORCHELASTIC_RUN_ID"


def says(launcher, *numbers, mark=True):
    """The variables of a launcher with these numbers; None leaves one away.

    mark: whether torchrun itself has set them.
    """
    named = zip(NAMES[launcher], numbers, strict=True)
    found = {name: str(number) for name, number in named if number is not None}
    return found | ({MARK: "none"} if mark and launcher == "torchrun" else {})


def cases(seed):
    """Each launcher alone; no local rank, two launchers, half of one, none; ranks of no world;
    RANK and WORLD_SIZE that torchrun hasn't set, alone, agreeing, and contradicted."""
    draw = random.Random(seed)
    found = []
    for launcher in NAMES:
        each, nodes = draw.randint(2, 6), draw.randint(2, 5)
        for rank in (0, draw.randrange(each, each * nodes)):
            found.append(says(launcher, rank, each * nodes, rank % each))
    size = draw.randint(3, 9)
    mpi = draw.randrange(1, size)
    return [
        *found,
        says("PALS", size - 1, size, None),
        says("Slurm", 1, 2, 0) | says("torchrun", size, 2 * size, 1),
        says("Slurm", 1, size, 1) | says("torchrun", 2, None, 0),
        {},
        says("torchrun", size, size, 0),
        says("Slurm", size + 3, size, 0),
        says("Open MPI", -1, size, 0),
        says("torchrun", 1, size, 1, mark=False),
        says("Open MPI", mpi, size, mpi) | says("torchrun", mpi, size, 0, mark=False),
        says("Open MPI", mpi, size, mpi) | says("torchrun", 0, 1, 0, mark=False),
        says("Slurm", mpi, size, mpi) | says("torchrun", 0, size, 0, mark=False),
        says("PALS", 0, size, 0) | says("torchrun", 0, 1, 0, mark=False),
    ]


def truth(environ, launchers=tuple(NAMES), refuse=True, local=None, leftover="contradicted"):
    """The three numbers, or the error; and what comes out with one of the known mistakes.

    leftover: when RANK without torchrun's mark is an error: "contradicted", "never", "always", or
    "marked too" (contradicted, even if torchrun has set it).
    """
    found = {}
    for launcher in launchers:
        rank_name, size_name, local_name = NAMES[launcher]
        if rank_name in environ and size_name in environ:
            rank, size = int(environ[rank_name]), int(environ[size_name])
            if refuse and not found and not 0 <= rank < size:
                return {"raises": "ValueError", "message": f"{rank_name}={rank}"}
            here = int(environ.get(local_name, rank if local is None else local))
            found[launcher] = rank, size, here
    if not found:
        return 0, 1, 0
    first, *others = found
    suspect = first == "torchrun" and (MARK not in environ or leftover == "marked too")
    contradicted = any(found[other][:2] != found[first][:2] for other in others)
    if suspect and leftover != "never" and (contradicted or leftover == "always"):
        return {"raises": "ValueError", "message": f"RANK={found[first][0]}"}
    return found[first]


MISTAKES = {
    "a RANK that was left over is believed, and four ranks train alone: without "
    "TORCHELASTIC_RUN_ID, raise ValueError if another launcher says something else": {
        "leftover": "never"
    },
    "this is the outermost launcher: go through LAUNCHERS from the first, the innermost one": {
        "launchers": tuple(NAMES)[::-1]
    },
    "only torchrun's variables are looked at: go through all of LAUNCHERS": {
        "launchers": ("torchrun",)
    },
    "what cannot be comes back as it is: raise ValueError": {"refuse": False},
    "all get the local rank 0: on one machine, the local rank is the rank itself": {"local": 0},
    "a RANK without TORCHELASTIC_RUN_ID is refused though nobody contradicts it: people set it by "
    "hand, too": {"leftover": "always"},
    "torchrun is refused below another launcher: it set TORCHELASTIC_RUN_ID, so believe it": {
        "leftover": "marked too"
    },
}


def name(case):
    right = truth(case)
    full = [who for who, (rank, size, _) in NAMES.items() if rank in case and size in case]
    if not case:
        return "no launcher is there: this process is alone"
    if len(full) == 2 and "RANK" in case and MARK not in case:
        if isinstance(right, dict):
            return f"RANK={case['RANK']} was left over, and {full[1]} says something else"
        return f"RANK was set by hand, and {full[1]} says the same"
    if isinstance(right, dict):
        rank, size, _ = (case.get(variable) for variable in NAMES[full[0]])
        return f"rank {rank} of {size} cannot be"
    if len(full) == 2:
        return f"{full[0]} was started by {full[1]}: believe {full[0]}, which started you"
    if "RANK" in case and "WORLD_SIZE" not in case:
        return "RANK is there and WORLD_SIZE is not: believe the next launcher that says both"
    if NAMES[full[0]][2] not in case:
        return f"{full[0]} left no local rank, so all ranks are on one machine"
    return f"started by {full[0]} as rank {right[0]} of {right[1]}"


def agrees(case, seen):
    """Whether this is right; an error must name the variable with the rank, and may say more."""
    right = truth(case)
    if isinstance(right, tuple):
        return same(right, seen)
    raised = isinstance(seen, dict) and seen["raises"] == "ValueError"
    return raised and right["message"].partition("=")[0] in seen["message"]


def explain(case, seen):
    right = truth(case)
    if isinstance(right, dict):
        if not isinstance(seen, dict):
            return f"{seen!r} came back: raise ValueError ({case})"
        if seen["raises"] != "ValueError":
            return f"raise ValueError, not {seen['raises']} ({case})"
        variable = right["message"].partition("=")[0]
        return f"name the variable {variable} in the message, not only {seen['message']!r}"
    if isinstance(seen, dict):
        return f"this raises {seen['raises']}: {seen['message']} ({case})"
    if not isinstance(seen, tuple | list) or len(seen) != 3:
        return f"give three numbers: rank, world size, local rank; not {seen!r}"
    if any(isinstance(number, str) for number in seen):
        return f"give whole numbers, not text: {seen!r}; as text, '10' comes before '9'"
    return f"{right} is right, not {tuple(seen)} ({case})"
