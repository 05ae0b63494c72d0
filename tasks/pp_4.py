"""PP-4: interleaved 1F1B, several stages on each rank."""

import random

from helpers.grade import Mistake, Submission, Task

TASK = Task(
    id="PP-4",
    title="order the actions of interleaved 1F1B",
    file="PP/schedules/orders.py",
    function="interleaved",
    notebook="07",
    points=20,
    minutes=35,
    hints=(
        "Write down the order of forwards for 2 ranks, 4 micro-batches and 2 chunks: it is the "
        "same on every rank, only the numbers of the stages differ. Then that of the backwards.",
        "One list of (chunk, micro-batch) serves both: for each round, for each chunk, for each "
        "micro-batch of the round. Backward takes the chunks from the last to the first. Then "
        "only the mixing is left: some forwards first, then pairs, then the backwards that are "
        "left.",
        "For each rank: down = its forwards, up = its backwards, in the order of that list, each "
        "with chunks * micro_batches entries. Take the first `ahead` of down; then, for each n, "
        "down[ahead + n] if there is one, and up[n]. `ahead` stands in the docstring; it is never "
        "more than chunks * micro_batches.",
    ),
)
SIZES = ((2, 4, 2), (3, 6, 2), (4, 8, 3), (2, 2, 1), (4, 4, 2), (3, 3, 4))


def sizes_of(seed):
    """(ranks, micro-batches, chunks): the known ones, and two that are drawn."""
    draw = random.Random(seed)
    ranks = draw.sample(range(2, 7), 2)
    return [*SIZES, *((r, r * draw.randint(1, 4), draw.randint(2, 5)) for r in ranks)]


def work(module, seed):
    """The orders that the student's function gives, by size, as text."""
    return [[list(map(str, row)) for row in module.interleaved(*size)] for size in sizes_of(seed)]


def verify(submission: Submission) -> None:
    """Each order by itself, then all of them together. Raises Mistake or WorkFailed."""
    from helpers.schedules import interleaved

    (answers,) = submission.on_ranks(work, 1, submission.seed)
    for size, rows in zip(sizes_of(submission.seed), answers, strict=True):
        right = [[str(action) for action in row] for row in interleaved(*size).ranks]
        if rows != right:
            raise Mistake(f"interleaved{size}: {why(size, rows, right)}")


def why(size, rows, right):
    """What is wrong with the orders, as near to the cause as can be."""
    ranks, m, chunks = size
    if len(rows) != ranks:
        return f"gives {len(rows)} orders, and there are {ranks} ranks"
    for r, (row, expected) in enumerate(zip(rows, right, strict=True)):
        strange = [cell for cell in row if cell not in expected]
        if strange:
            stages = ", ".join(str(r + c * ranks) for c in range(chunks))
            return (
                f'rank {r} does "{strange[0]}": it holds the stages {stages}, and does F and B '
                f"for the micro-batches 0 to {m - 1}"
            )
        for cell in expected:
            if row.count(cell) != 1:
                return f'rank {r} does "{cell}" {row.count(cell)} times, and it must be once'
        for kind, word in (("F", "forward"), ("B", "backward")):
            mine, theirs = ([c for c in cells if kind in c] for cells in (row, expected))
            if mine != theirs:
                n = next(
                    n for n, pair in enumerate(zip(mine, theirs, strict=True)) if len({*pair}) > 1
                )
                return (
                    f"the order of rank {r}'s {word}s is wrong: number {n} is {mine[n]}, and it is "
                    f"{theirs[n]}: {_cause(mine, theirs, kind, chunks)}"
                )
        did, should = (
            next(n for n, c in enumerate(cells) if "B" in c) for cells in (row, expected)
        )
        if did != should:
            return (
                f"rank {r} goes forward {did} times before its first backward, and it should be "
                f"{should}: that many ahead, and the first of the pairs"
            )
        n = next(n for n, pair in enumerate(zip(row, expected, strict=True)) if len({*pair}) > 1)
        return f"rank {r}, position {n}: {row[n]}, and it is {expected[n]}: one F, one B, in turn"
    return "the orders differ"


def _cause(mine, right, kind, chunks):
    if chunks > 1 and _chunks(mine, kind) == _chunks(right, kind)[::-1]:
        return "backward begins with the last stage of the rank"
    first = [cell for cell in right if cell.split(kind)[0] == right[0].split(kind)[0]]
    if mine[: len(first)] == first and len(first) > 1:
        return (
            "a round is as many micro-batches as there are ranks, and then the next stage follows"
        )
    return "for each round, for each stage of the rank, for each micro-batch of the round"


def _chunks(cells, kind):
    """The stages in the order in which they first come."""
    return list(dict.fromkeys(cell.split(kind)[0] for cell in cells))
