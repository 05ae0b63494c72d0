"""PF-1: one script for a laptop, for one GPU, and for many."""

import random

from helpers.grade import Mistake, Submission, Task

TASK = Task(
    id="PF-1",
    title="choose the device of a rank, with a launcher and without",
    file="DP/ddp/devices.py",
    function="choose_device",
    notebook="13",
    points=5,
    minutes=15,
    hints=(
        "Three questions. What if no local rank was given? What if there is no GPU at all? What "
        "if there are fewer GPUs than ranks: for whom is that an error?",
        "Begin with the number: 0 where local_rank is None. Then the one case that is an error. "
        "Then the GPU, where there is one; the remainder of a division lets ranks take turns.",
        "Number = local_rank, or 0 for None. If the backend is nccl and the number is not below "
        "gpus, raise a ValueError that names both. Return cpu if gpus is 0, else the name of the "
        "GPU number modulo gpus.",
    ),
)
CASES = [
    (rank, gpus, backend)
    for backend in ("gloo", "nccl")
    for gpus in (0, 1, 2, 4)
    for rank in (None, 0, 1, 2, 4, 7)
]


def cases_of(seed):
    """(local rank, GPUs, backend): the known ones, and some on larger machines."""
    draw = random.Random(seed)
    drawn = [(draw.randint(0, 30), draw.randint(3, 16)) for _ in range(6)]
    return CASES + [(*pair, backend) for pair in drawn for backend in ("gloo", "nccl")]


def work(module, cases):
    """What the function gives for each case; of an error its type and its words."""
    answers = []
    for case in cases:
        try:
            answers.append(str(module.choose_device(*case)))
        except NotImplementedError:
            raise
        except Exception as error:
            answers.append((type(error).__name__, str(error)))
    return answers


def verify(submission: Submission) -> None:
    """Each case on its own. Raises Mistake or WorkFailed."""
    cases = cases_of(submission.seed)
    (answers,) = submission.on_ranks(work, 1, cases)
    for (rank, gpus, backend), found in zip(cases, answers, strict=True):
        judge(rank, gpus, backend, found)


def judge(rank, gpus, backend, found):
    here = f"for local_rank {rank}, {gpus} GPUs and {backend}"
    number = rank or 0
    refused = not isinstance(found, str)
    if refused and found[0] != "ValueError":
        none = "; without a launcher there is no local rank" if rank is None else ""
        raise Mistake(f"{found[0]} {here}: {found[1]}{none}")
    if backend == "nccl" and number >= gpus:
        if not refused:
            raise Mistake(
                f"{here} the answer is {found!r}, and there is no such GPU, or another rank has "
                "it: NCCL needs one for each rank, so raise ValueError"
            )
        if not all(word in found[1] for word in ("LOCAL_RANK", str(number), str(gpus))):
            raise Mistake(
                f"the error {here} says {found[1]!r}: LOCAL_RANK and both numbers must be in it, "
                "or nobody knows what to change"
            )
        return
    if refused:
        why = "ranks may share a GPU there" if backend == "gloo" else "there is one for this rank"
        raise Mistake(f"an error {here}, and {why}: {found[1]}")
    right = f"cuda:{number % gpus}" if gpus else "cpu"
    if found != right:
        raise Mistake(f"{here} the answer is {found!r}, and must be {right!r}")
