"""What the tasks on MPI share on the judge's side."""

import numpy as np


def draw(seed, rank, shape, dtype):
    """Whole numbers, so that every order of additions gives the same; another draw each rank."""
    rng = np.random.default_rng([seed, rank, *shape])
    return rng.integers(-50, 50, shape).astype(dtype)


def arrays_for(functions, shapes, ranks, seed):
    """Cases for functions of one array: {function: the array's name}, and (shape, dtype) of each.

    The first array of each function is a view with gaps in memory.
    """
    return [
        {
            "function": function,
            "name": name,
            "gaps": number == 0,
            "arrays": [draw(seed + number, rank, shape, dtype) for rank in range(ranks)],
        }
        for function, name in functions.items()
        for number, (shape, dtype) in enumerate(shapes)
    ]


def told(found):
    """What came back, in words."""
    if isinstance(found, np.ndarray):
        return f"an array {found.dtype} of shape {found.shape}"
    return "nothing: end the function with return" if found is None else type(found).__name__


def stopped(sentence):
    """A hang in the words of collectives."""
    if " (irecv)" in sentence or " (isend)" in sentence:  # of Comm.exchange
        return (
            "a rank waits in a collective that another one never calls: every rank of the group "
            f"must call it, all in the same order ({sentence})"
        )
    return None
