"""TP-3: all parts side by side; and the other ways to put them together."""

import numpy as np

from helpers.grade.verify import same
from tasks.truth._mpi import arrays_for, stopped, told  # noqa: F401

RANKS = 4
FUNCTIONS = {"naive_collect_forward_input": "x", "naive_collect_forward_output": "out"}
SHAPES = [((6, 4), "float64"), ((3, 2), "float32"), ((1, 1), "float64"), ((5, 3), "int64")]


def cases(seed):
    return arrays_for(FUNCTIONS, SHAPES, RANKS, seed)


def after(case, new):
    """new(the arrays of all ranks, rank): what the rank gets."""
    parts = case["arrays"]
    return [{"result": new(parts, r), "afterwards": own} for r, own in enumerate(parts)]


def truth(case):
    return after(case, lambda parts, rank: np.concatenate(parts, axis=-1))


MISTAKES = {
    sentence: lambda case, new=new: after(case, new)
    for sentence, new in {
        "this is this rank's own part: every rank needs the parts of all": (
            lambda parts, rank: parts[rank]
        ),
        "the parts lie below each other: put them side by side, along the last axis": (
            lambda parts, rank: np.concatenate(parts, axis=0)
        ),
        "the parts are in one new dimension: put them side by side, along the last axis": (
            lambda parts, rank: np.stack(parts)
        ),
        "Allgather writes one rank's array after the other's, so a reshape mixes rows and parts: "
        "put the arrays side by side along the last axis": (
            lambda parts, rank: np.stack(parts).reshape(len(parts[0]), -1)
        ),
        "the parts are added up, and they should be side by side: that is Allgather": (
            lambda parts, rank: sum(parts)
        ),
        "the columns of the ranks take turns: all columns of rank 0 come first": (
            lambda parts, rank: np.stack(parts, axis=-1).reshape(len(parts[0]), -1)
        ),
        "the parts are in the wrong order: rank 0's comes first": (
            lambda parts, rank: np.concatenate(parts[::-1], axis=-1)
        ),
    }.items()
}


def name(case):
    return f"{case['function']}, for an array of shape {case['arrays'][0].shape}"


def explain(case, seen):
    right = truth(case)
    for rank, (found, its) in enumerate(zip(seen, right, strict=True)):
        if not same(its["afterwards"], found["afterwards"]):
            return f"the array that came in has changed on rank {rank}: make a new one"
    for rank, (found, its) in enumerate(zip(seen, right, strict=True)):
        result, whole = found["result"], its["result"]
        if isinstance(result, np.ndarray) and result.dtype != whole.dtype:
            return f"{whole.dtype} came in and {result.dtype} comes out: keep the type"
        if not isinstance(result, np.ndarray) or result.shape != whole.shape:
            return (
                f"on rank {rank} this is {told(result)}; all {RANKS} parts side by side have "
                f"{whole.shape}"
            )
    return "the shape is right, and the numbers are not those of the parts"
