"""TP-3: naive model parallelism, forward: put the parts together."""

from pathlib import Path

import numpy as np

from helpers.grade import Mistake, Submission, Task
from helpers.grade.task import load_module

mpi = load_module(Path(__file__).with_name("_mpi.py"), "lab_task_mpi")

TASK = Task(
    id="TP-3",
    title="collect the parts of the second layer's input and output",
    file="TP/model/func_impl.py",
    function="naive_collect_forward_input",
    also=("naive_collect_forward_output",),
    notebook="11",
    points=15,
    minutes=20,
    hints=(
        "Both functions do the same: every rank has some columns, and all need all of them. Which "
        "collective is that? And in which order does it put what it gets into memory?",
        "Allgather writes the arrays of the ranks one after the other: into an array of shape "
        "(mp_size, *x.shape), of the dtype of x. The parts belong side by side, along the last "
        "axis. MPI sends memory, and x may be a view with gaps.",
        "Make an empty array of shape (mp_size, *x.shape) with the dtype of x. Allgather "
        "np.ascontiguousarray(x) into it. Return np.concatenate(list(it), axis=-1): the mp_size "
        "arrays that it holds, side by side.",
    ),
)

RANKS = 4
FUNCTIONS = {"naive_collect_forward_input": "x", "naive_collect_forward_output": "out"}
CASES = [((6, 4), "float64"), ((3, 2), "float32"), ((1, 1), "float64"), ((5, 3), "int64")]


def inputs(seed, rank, number):
    """A rank's part: in the first case a view with gaps in memory."""
    shape, dtype = CASES[number]
    x = mpi.draw(seed + number, rank, shape, dtype)
    return np.asfortranarray(x) if number == 0 else x


def work(module, seed):
    """On every rank, beside the student's code: of each function and case what it gave."""
    comm, found = mpi.Comm(), {}
    for function, name in FUNCTIONS.items():
        for number in range(len(CASES)):
            x = inputs(seed, comm.rank, number)
            given = {name: x, "mp_comm": comm, "mp_size": comm.size}
            found[function, number] = getattr(module, function)(**given), x
    return found


def verify(submission: Submission) -> None:
    """Compare with the whole arrays. Raises Mistake or WorkFailed."""
    answers = mpi.on_ranks(submission, work, RANKS)
    for rank, found in enumerate(answers):
        for (function, number), (whole, after) in found.items():
            parts = [inputs(submission.seed, r, number) for r in range(RANKS)]
            where = f"{function} on rank {rank}, for an array of shape {parts[0].shape}"
            if not mpi.same(after, parts[rank]):
                raise Mistake(f"{where}: the array that came in has changed: make a new one")
            judge(where, whole, parts, rank)


def judge(where, found, parts, rank):
    """One answer. Raises Mistake."""
    right = np.concatenate(parts, axis=-1)
    if mpi.same(found, right):
        return
    if isinstance(found, np.ndarray) and found.dtype != right.dtype:
        raise Mistake(f"{where}: {right.dtype} came in and {found.dtype} comes out: keep the type")
    for sentence, array in known(parts, rank).items():
        if mpi.same(found, array):
            raise Mistake(f"{where}: {sentence}")
    shape = found.shape if isinstance(found, np.ndarray) else None
    if shape != right.shape:
        raise Mistake(
            f"{where}: this is {mpi.told(found)}; all {RANKS} parts side by side have {right.shape}"
        )
    raise Mistake(f"{where}: the shape is right, and the numbers are not those of the parts")


def known(parts, rank):
    """{sentence: what this mistake gives}."""
    backwards, stacked = parts[::-1], np.stack(parts)
    rows, features = parts[0].shape
    return {
        "this is this rank's own part: every rank needs the parts of all": parts[rank],
        "the parts lie below each other: put them side by side, along the last axis": (
            np.concatenate(parts, axis=0)
        ),
        "the parts are in one new dimension: put them side by side, along the last axis": stacked,
        "Allgather writes one rank's array after the other's, so a reshape mixes rows and parts: "
        "put the arrays side by side along the last axis": (
            stacked.reshape(rows, len(parts) * features)
        ),
        "the parts are added up, and they should be side by side: that is Allgather": sum(parts),
        "the columns of the ranks take turns: all columns of rank 0 come first": (
            stacked.transpose(1, 2, 0).reshape(rows, -1)
        ),
        "the parts are in the wrong order: rank 0's comes first": np.concatenate(backwards, -1),
    }
