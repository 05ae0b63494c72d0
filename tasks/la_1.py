"""LA-1: from what a launcher left in the environment to a rank."""

import random

from helpers.grade import Mistake, Submission, Task

TASK = Task(
    id="LA-1",
    title="find the rank in the environment",
    file="jobs/count_ranks.py",
    function="from_environment",
    notebook="15",
    points=10,
    minutes=20,
    hints=(
        "What does a launcher set, and what is there if none has started this process? What is "
        "the type of a value of os.environ? Which of several launchers is the nearest to it?",
        "Go through LAUNCHERS from the first. Skip one whose rank or world size is not there. The "
        "first that is left decides; only its variables count.",
        "Make whole numbers of the texts. A rank below 0, or not below the world size, is a "
        "ValueError. A local rank that is missing is the rank itself. After the loop: nobody "
        "started it: it is rank 0 of 1.",
    ),
)
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


def says(launcher, *numbers):
    """The variables of a launcher with these numbers; None leaves one away."""
    named = zip(NAMES[launcher], numbers, strict=True)
    return {name: str(number) for name, number in named if number is not None}


def cases(seed):
    """(environment, what is right, or the variable that an error must name, what went wrong)."""
    draw = random.Random(seed)
    found = []
    for launcher in NAMES:
        each, nodes = draw.randint(2, 6), draw.randint(2, 5)
        for rank in (0, draw.randrange(each, each * nodes)):
            three = (rank, each * nodes, rank % each)
            wrong = f"started by {launcher} as rank {rank} of {each * nodes}"
            found.append((says(launcher, *three), three, wrong))
    size = draw.randint(3, 9)
    here = "PALS left no local rank, so all ranks are on one machine"
    found.append((says("PALS", size - 1, size, None), (size - 1, size, size - 1), here))
    below = says("Slurm", 1, 2, 0) | says("torchrun", size, 2 * size, 1)
    inner = "torchrun was started by Slurm: believe torchrun, which started you"
    found.append((below, (size, 2 * size, 1), inner))
    half = says("Slurm", 1, size, 1) | says("torchrun", 2, None, 0)
    missing = "RANK is there and WORLD_SIZE is not: believe the next launcher that says both"
    found.append((half, (1, size, 1), missing))
    found.append(({}, (0, 1, 0), "no launcher is there: this process is alone"))
    for launcher, rank in (("torchrun", size), ("Slurm", size + 3), ("Open MPI", -1)):
        wrong = f"rank {rank} of {size} cannot be"
        found.append((says(launcher, rank, size, 0), NAMES[launcher][0], wrong))
    return found


def work(module, seed):
    """On one rank, beside the student's code: its answer, or its error, for each environment."""
    answers = []
    for environ, _, _ in cases(seed):
        try:
            answers.append(("answer", module.from_environment(dict(environ))))
        except NotImplementedError:
            raise
        except Exception as error:
            answers.append((type(error).__name__, str(error)))
    return answers


def verify(submission: Submission) -> None:
    """Raises Mistake or WorkFailed."""
    (answers,) = submission.on_ranks(work, 1, submission.seed)
    for (environ, right, wrong), (kind, given) in zip(cases(submission.seed), answers, strict=True):
        if isinstance(right, str):
            judge_refusal(environ, right, wrong, kind, given)
        else:
            judge(environ, right, wrong, kind, given)


def judge(environ, right, wrong, kind, given):
    """Raises Mistake, which shows the environment."""
    if kind != "answer":
        raise Mistake(f"{wrong}, but {kind}: {given} ({environ})")
    if not isinstance(given, (tuple, list)) or len(given) != 3:
        raise Mistake(f"give three numbers: rank, world size, local rank; not {given!r}")
    if any(isinstance(number, str) for number in given):
        raise Mistake(f"give whole numbers, not text: {given!r}; as text, '10' comes before '9'")
    if tuple(given) != right:
        raise Mistake(f"{wrong}: {right} is right, not {tuple(given)} ({environ})")


def judge_refusal(environ, name, wrong, kind, given):
    """Raises Mistake where what cannot be was not refused with the variable's name."""
    if kind == "answer":
        raise Mistake(f"{wrong}, and {given!r} came back: raise ValueError ({environ})")
    if kind != "ValueError":
        raise Mistake(f"{wrong}: raise ValueError, not {kind} ({environ})")
    if name not in given:
        raise Mistake(f"{wrong}: name the variable {name} in the message, not only {given!r}")
