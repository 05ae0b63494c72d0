"""TP-3: collect the parts of the second layer's input and output."""

import random

import numpy as np

from tasks import _mpi

HINTS = (
    "Both functions do the same: every rank has some of the columns, and needs all of them. Which "
    "collective is that? And in which order does it put what it gets into memory?",
    "Allgather np.ascontiguousarray(x) (it may be a view with gaps) into an empty array of shape "
    "(mp_size, *x.shape) with the dtype of x. Return np.concatenate(list(it), axis=-1): the "
    "mp_size arrays that it holds, side by side.",
)
NAME = "{function}, for an array of shape {arrays[0].shape}"
LESSON, MINUTES, RANKS = "tensor_parallel", 20, 4
PAGE = "TP/README.md"


def observe(module, case):
    comm = _mpi.Comm()
    x = np.array(case["arrays"][comm.rank], order="F" if case["gaps"] else "C")
    given = {case["name"]: x, "mp_comm": comm, "mp_size": comm.size}
    return {"result": getattr(module, case["function"])(**given), "the array that came in": x}


def cases():
    """For each function a view with gaps in memory, and then other shapes and types."""
    functions = {"naive_collect_forward_input": "x", "naive_collect_forward_output": "out"}
    shapes = [((6, 4), "float64"), ((3, 2), "float32"), ((1, 1), "float64"), ((5, 3), "int64")]
    rng = np.random.default_rng(random.randrange(10**6))
    return [
        {
            "function": function,
            "name": name,
            "gaps": number == 0,
            "arrays": [rng.integers(-50, 50, shape).astype(dtype) for _ in range(RANKS)],
        }
        for function, name in functions.items()
        for number, (shape, dtype) in enumerate(shapes)
    ]


WHOLE = "np.concatenate(list(gathered), axis=-1)"
SIDE = "put them side by side, along the last axis"
MUTANTS = {
    (WHOLE, "x"): "this is this rank's own part: every rank needs the parts of all",
    (WHOLE, "np.concatenate(list(gathered), axis=0)"): f"the parts lie below each other: {SIDE}",
    (WHOLE, "gathered"): f"the parts are in one new dimension: {SIDE}",
    (WHOLE, "gathered.reshape(len(x), -1)"): "Allgather writes one rank's array after the "
    "other's, so a reshape mixes rows and parts: put the arrays side by side along the last axis",
    (WHOLE, "gathered.sum(axis=0)"): "the parts are added up, and they should be side by side: "
    "that is Allgather",
    (WHOLE, "np.stack(list(gathered), axis=-1).reshape(len(x), -1)"): "the columns of the ranks "
    "take turns: all columns of rank 0 come first",
    (WHOLE, "np.concatenate(list(gathered)[::-1], axis=-1)"): "the parts are in the wrong order: "
    "rank 0's comes first",
    (WHOLE, f"{WHOLE}.astype(float)"): "float64 comes out, whatever came in: keep the type of the "
    "array",
    (f"return {WHOLE}", f"whole = {WHOLE}\nx[:] = 0\nreturn whole"): "the array that came in has "
    "changed: make a new one",
}
STOPPED = _mpi.STOPPED
