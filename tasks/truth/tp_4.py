"""TP-4: one sum, and three functions that need nothing of the other ranks."""

import numpy as np

from helpers.grade.verify import same
from tasks.truth._mpi import arrays_for, stopped, told  # noqa: F401

RANKS = 3
SUM = "megatron_collect_forward_output"
FUNCTIONS = {
    "megatron_collect_forward_input": "x",
    SUM: "out",
    "megatron_collect_backward_output": "output_grad",
    "megatron_collect_backward_x": "grad_x",
}
NEEDS = {
    "megatron_collect_forward_input": "its rows of W take exactly the inputs that it has",
    "megatron_collect_backward_output": "its rows of W have a part in every output",
    "megatron_collect_backward_x": "the gradient of its own inputs depends on its own rows of W",
}
SHAPES = [((6, 3), "float64"), ((2, 6), "float32")]


def cases(seed):
    return arrays_for(FUNCTIONS, SHAPES, RANKS, seed)


def truth(case, new=lambda terms, rank: sum(terms), call="Allreduce", write=False):
    """What the ranks have. new(all terms, rank): what the sum is; write: into the term itself."""
    found = []
    for rank, own in enumerate(case["arrays"]):
        result, calls = own, []
        if case["function"] == SUM:
            result, calls = new(case["arrays"], rank), [call] if call else []
        found.append({"result": result, "afterwards": result if write else own, "calls": calls})
    return found


MISTAKES = {
    "this is this rank's own term: the output is the sum of the terms of all ranks": {
        "new": lambda terms, rank: terms[rank],
        "call": "",
    },
    "the terms are side by side, as the naive way puts its parts; here each rank has one term "
    "of every output: add them up": {
        "new": lambda terms, rank: np.concatenate(terms, axis=-1),
        "call": "Allgather",
    },
    "this is the mean of the terms, and the output is their sum": {
        "new": lambda terms, rank: (sum(terms) / RANKS).astype(terms[0].dtype)
    },
    "the array that came in has changed: write to a new one": {"write": True},
}


def name(case):
    return case["function"]


def agrees(case, seen):
    """Whether it is right; the sum may come with any collective."""
    return all(
        same({**right, "calls": found["calls"]} if case["function"] == SUM else right, found)
        for right, found in zip(truth(case), seen, strict=True)
    )


def explain(case, seen):
    right = truth(case)
    for rank, (found, its) in enumerate(zip(seen, right, strict=True)):
        given, whole = found["result"], its["result"]
        if not same(its["afterwards"], found["afterwards"]):
            return f"the array that came in has changed on rank {rank}: write to a new one"
        if case["function"] == SUM and not same(whole, given):
            return (
                f"on rank {rank} this is {told(given)}, and not the sum of all ranks' arrays, "
                f"{whole.dtype} of shape {whole.shape}"
            )
        why = NEEDS.get(case["function"])
        if why and found["calls"]:
            return f"{found['calls'][0]} is not needed: {why}, so the rank has all it needs"
        if why and isinstance(given, np.ndarray) and given.shape != whole.shape:
            return (
                f"{whole.shape} came in and {given.shape} comes out: {why}, so give the whole array"
            )
        if why and not same(whole, given):
            return f"on rank {rank} this is {told(given)}: {why}, so give the array as it is"
    return None
