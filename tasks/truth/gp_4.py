"""GP-4: the clock of a pipeline, and rules that say where another one goes wrong."""

import random

from tasks.truth._gp import clock


def cases(seed):
    """[micro-batches, parts]: more of the one, or of the other, and two that are drawn."""
    draw = random.Random(seed)
    drawn = [[draw.randint(2, 9), draw.randint(2, 6)] for _ in range(2)]
    return [[6, 2], [3, 3], [1, 4], [5, 1], [2, 4], *drawn]


def name(case):
    return "{} micro-batches, {} parts".format(*case)


def truth(case):
    return [sorted(tick) for tick in clock(*case)]


def explain(case, seen):
    batches, parts = case
    done = [tuple(pair) for tick in seen for pair in tick]
    expected = {(i, j) for i in range(batches) for j in range(parts)}
    for pair in done:
        if pair not in expected:
            swapped = " (the micro-batch comes first)" if pair[::-1] in expected else ""
            return f"there is no micro-batch {pair[0]} in part {pair[1]}{swapped}"
        if done.count(pair) > 1:
            return f"micro-batch {pair[0]} is in part {pair[1]} twice"
    lacking = min(expected - set(done), default=None)
    if lacking:
        return f"micro-batch {lacking[0]} never comes to part {lacking[1]}"
    when = {tuple(pair): k for k, tick in enumerate(seen) for pair in tick}
    for (i, j), k in sorted(when.items()):
        if j and when[i, j - 1] >= k:
            return (
                f"micro-batch {i} is in part {j} at tick {k}, and part {j - 1} has not done it "
                "before"
            )
        if k > i + j:
            return (
                f"micro-batch {i} is in part {j} at tick {k}, and could be at {i + j}: parts work "
                "at the same time"
            )
    return f"there are {len(seen)} ticks, not {batches + parts - 1}"
