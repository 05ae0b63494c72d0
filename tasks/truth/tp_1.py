"""TP-1: which rows each rank learns from."""

import numpy as np

from helpers.grade.verify import same
from tasks.truth._mpi import draw, told

LAYOUTS = ((2, 4), (4, 2), (1, 3), (3, 1), (3, 2))
ROWS = 24


def cases(seed):
    """(mp_size, dp_size, x, y); no two rows are alike."""
    found = []
    for mp, dp in LAYOUTS:
        for dtype in ("float32", "float64"):
            x, y = draw(seed, 0, (ROWS, 5), dtype), draw(seed, 1, (ROWS, 1), "int64")
            x[:, 0], y[:, 0] = np.arange(ROWS), np.arange(ROWS)
            found.append((mp, dp, x, y))
    return found


def divided(case, rows):
    """rows(mp, dp, rank): what of the data each rank gets."""
    mp, dp, *data = case
    parts = [tuple(array[rows(mp, dp, rank)] for array in data) for rank in range(mp * dp)]
    return {"the training data": tuple(data), "parts": parts}


def part(rows, number):
    return slice(number * rows, (number + 1) * rows)


def truth(case):
    return divided(case, lambda mp, dp, rank: part(ROWS // dp, rank // mp))


MISTAKES = {
    sentence: lambda case, rows=rows: divided(case, rows)
    for sentence, rows in {
        "every rank gets all rows: divide them among the copies": lambda mp, dp, rank: slice(None),
        "each rank gets rows of its own, and the ranks of one copy need the same: there are "
        "dp_size parts, not mp_size * dp_size": lambda mp, dp, rank: part(ROWS // (mp * dp), rank),
        "this is the part of another copy: the copy of a rank is rank // mp_size, for ranks 0 … "
        "mp_size-1 are the first copy": lambda mp, dp, rank: part(ROWS // dp, rank % dp),
        "rank % mp_size says which part of the layers is here, not which copy of the model": (
            lambda mp, dp, rank: part(ROWS // dp, rank % mp)
        ),
        "each copy gets every dp_size-th row, and it must get rows that follow each other": (
            lambda mp, dp, rank: slice(rank // mp, None, dp)
        ),
        "there are dp_size parts, and these are parts of mp_size": (
            lambda mp, dp, rank: part(ROWS // mp, rank // dp)
        ),
    }.items()
}


def name(case):
    return f"with mp_size={case[0]}, dp_size={case[1]}"


def explain(case, seen):
    right = truth(case)
    if not same(right["the training data"], seen["the training data"]):
        return "the training data has changed: only look at it, and give a part of it"
    for rank, (found, (x, y)) in enumerate(zip(seen["parts"], right["parts"], strict=True)):
        if not isinstance(found, tuple | list) or len(found) != 2:
            return f"rank {rank}: give two arrays, x and y; this is {told(found)}"
        fits = [same(x, found[0]), same(y, found[1])]
        if any(fits) and not all(fits):
            wrong = "xy"[fits.index(False)]
            return f"rank {rank}: {wrong} is wrong and the other is right: cut both alike"
        if not all(fits):
            first, count = int(y[0, 0]), len(y)
            return (
                f"rank {rank}: rows {first} to {first + count - 1} of {ROWS} are needed; this is "
                f"{told(found[0])} and {told(found[1])}"
            )
    return None
