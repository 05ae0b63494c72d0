"""TP-1: which rows each rank learns from."""

from pathlib import Path

import numpy as np

from helpers.grade import Mistake, Submission, Task
from helpers.grade.task import load_module

mpi = load_module(Path(__file__).with_name("_mpi.py"), "lab_task_mpi")

TASK = Task(
    id="TP-1",
    title="divide the rows among the copies of the model",
    file="TP/data/data_parallel_preprocess.py",
    function="split_data",
    notebook="11",
    points=10,
    minutes=10,
    hints=(
        "Ranks 0 … mp_size-1 hold one copy of the model together, so they need the same rows. "
        "Which copy does a rank belong to? And how many parts are there?",
        "rank // mp_size is the number of the copy, from 0 to dp_size - 1. Each copy gets "
        "len(x_train) // dp_size rows that follow each other.",
        "With d = rank // mp_size and n = len(x_train) // dp_size the part is "
        "[d * n : (d + 1) * n], of x_train and of y_train alike.",
    ),
)

LAYOUTS = ((2, 4), (4, 2), (1, 3), (3, 1), (3, 2))
ROWS = 24
DTYPES = ("float32", "float64")


def data(seed, dtype):
    x, y = mpi.draw(seed, 0, (ROWS, 5), dtype), mpi.draw(seed, 1, (ROWS, 1), "int64")
    x[:, 0], y[:, 0] = np.arange(ROWS), np.arange(ROWS)  # no two rows are alike
    return x, y


def cases():
    return [
        (mp, dp, rank, dtype) for mp, dp in LAYOUTS for rank in range(mp * dp) for dtype in DTYPES
    ]


def work(module, seed):
    """On one rank, beside the student's code: what it gives for every case, and the data after."""
    found = []
    for mp, dp, rank, dtype in cases():
        x, y = data(seed, dtype)
        found.append((module.split_data(x, y, mp, dp, rank), x, y))
    return found


def verify(submission: Submission) -> None:
    """Compare with the rows that each rank must have. Raises Mistake."""
    (answers,) = submission.on_ranks(work, 1, submission.seed)
    for (mp, dp, rank, dtype), (found, *after) in zip(cases(), answers, strict=True):
        x, y = data(submission.seed, dtype)
        where = f"with mp_size={mp}, dp_size={dp}, rank {rank}"
        if not all(mpi.same(a, b) for a, b in zip(after, (x, y), strict=True)):
            raise Mistake("the training data has changed: only look at it, and give a part of it")
        if not isinstance(found, tuple | list) or len(found) != 2:
            raise Mistake(f"{where}: give two arrays, x and y; this is {mpi.told(found)}")
        judge(where, (x, y), found, mp, dp, rank)


def judge(where, whole, found, mp, dp, rank):
    """One answer. Raises Mistake."""
    right = [array[part(ROWS // dp, rank // mp)] for array in whole]
    wrong = [name for name, a, b in zip("xy", found, right, strict=True) if not mpi.same(a, b)]
    if not wrong:
        return
    if len(wrong) == 1:
        raise Mistake(f"{where}: {wrong[0]} is wrong and the other is right: cut both alike")
    for sentence, rows in known(mp, dp, rank).items():
        if all(mpi.same(a, array[rows]) for a, array in zip(found, whole, strict=True)):
            raise Mistake(f"{where}: {sentence}")
    first, count = rank // mp * (ROWS // dp), ROWS // dp
    told = f"{mpi.told(found[0])} and {mpi.told(found[1])}"
    raise Mistake(
        f"{where}: rows {first} to {first + count - 1} of {ROWS} are needed; this is {told}"
    )


def part(rows, number):
    return slice(number * rows, (number + 1) * rows)


def known(mp, dp, rank):
    """{sentence: the rows that this mistake gives}."""
    ranks = mp * dp
    return {
        "every rank gets all rows: divide them among the copies": slice(None),
        "each rank gets rows of its own, and the ranks of one copy need the same: there are "
        "dp_size parts, not mp_size * dp_size": part(ROWS // ranks, rank),
        "this is the part of another copy: the copy of a rank is rank // mp_size, for ranks 0 … "
        "mp_size-1 are the first copy": part(ROWS // dp, rank % dp),
        "rank % mp_size says which part of the layers is here, not which copy of the model": part(
            ROWS // dp, rank % mp
        ),
        "each copy gets every dp_size-th row, and it must get rows that follow each other": slice(
            rank // mp, None, dp
        ),
        "there are dp_size parts, and these are parts of mp_size": part(ROWS // mp, rank // dp),
    }
