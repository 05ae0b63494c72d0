"""PP-4: the library's own orders; and what is wrong with another one, near to its cause."""

import random

from helpers.schedules import interleaved

SIZES = ((2, 4, 2), (3, 6, 2), (4, 8, 3), (2, 2, 1), (4, 4, 2), (3, 3, 4))


def cases(seed):
    """(ranks, micro-batches, chunks): the known ones, and two that are drawn."""
    draw = random.Random(seed)
    ranks = draw.sample(range(2, 7), 2)
    return [*SIZES, *((r, r * draw.randint(1, 4), draw.randint(2, 5)) for r in ranks)]


def truth(case):
    return [[str(action) for action in row] for row in interleaved(*case).ranks]


def name(case):
    return f"interleaved{case}"


def explain(case, seen):
    ranks, m, chunks = case
    if len(seen) != ranks:
        return f"gives {len(seen)} orders, and there are {ranks} ranks"
    pairs = enumerate(zip(seen, truth(case), strict=True))
    rank, (row, right) = next((r, pair) for r, pair in pairs if pair[0] != pair[1])
    for cell in row:
        if cell not in right:
            stages = ", ".join(str(rank + c * ranks) for c in range(chunks))
            return (
                f'rank {rank} does "{cell}": it holds the stages {stages}, and does F and B '
                f"for the micro-batches 0 to {m - 1}"
            )
    for cell in right:
        if row.count(cell) != 1:
            return f'rank {rank} does "{cell}" {row.count(cell)} times, and it must be once'
    for kind, word in (("F", "forward"), ("B", "backward")):
        mine, theirs = ([cell for cell in cells if kind in cell] for cells in (row, right))
        if mine != theirs:
            n = _first(mine, theirs)
            return (
                f"the order of rank {rank}'s {word}s is wrong: number {n} is {mine[n]}, and it is "
                f"{theirs[n]}: {_cause(mine, theirs, kind, ranks, chunks)}"
            )
    did, should = (["B" in cell for cell in cells].index(True) for cells in (row, right))
    if did != should:
        return (
            f"rank {rank} goes forward {did} times before its first backward, and it should be "
            f"{should}: that many ahead, and the first of the pairs"
        )
    n = _first(row, right)
    return f"rank {rank}, position {n}: {row[n]}, and it is {right[n]}: one F, one B, in turn"


def _first(mine, right):
    """Where two lists of one length differ first."""
    return next(n for n, (a, b) in enumerate(zip(mine, right, strict=True)) if a != b)


def _cause(mine, right, kind, ranks, chunks):
    by_stage = [list(dict.fromkeys(c.split(kind)[0] for c in cells)) for cells in (mine, right)]
    if chunks > 1 and by_stage[0] == by_stage[1][::-1]:
        return "backward begins with the last stage of the rank"
    first = [cell for cell in right if cell.split(kind)[0] == by_stage[1][0]]
    if mine[: len(first)] == first and ranks > 1:
        return (
            "a round is as many micro-batches as there are ranks, and then the next stage follows"
        )
    return "for each round, for each stage of the rank, for each micro-batch of the round"
