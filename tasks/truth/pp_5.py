"""PP-5: whether each schedule runs and fits; and its time, against that of a search."""

import functools
from statistics import mean

from helpers.grade.verdict import Score
from helpers.schedules import BadSchedule, parse
from helpers.search import search
from helpers.simulate import Costs, OutOfMemory, simulate

SIZES = ((4, 8, 4), (4, 8, 7), (4, 8, 2), (3, 7, 5), (6, 12, 4), (5, 10, 7), (1, 3, 1), (3, 1, 3))
ENOUGH = 0.95


def cases(seed):
    """One case, whatever the seed: the score is a mean over these (ranks, micro-batches, room)."""
    return [SIZES]


def explain(case, seen):
    wrong = (_wrong(one, rows) for one, rows in zip(case, seen, strict=True))
    if sentence := next(filter(None, wrong), None):
        return sentence
    score, words = _score(case, seen)
    if score >= ENOUGH:
        return None
    return f"it runs and it fits, but it is slow: {words}; {100 * ENOUGH:.0f} % passes"


def passed(cases, seen):
    score, words = _score(cases[0], seen[0])
    return Score(words, round(100 * score, 1), "% of the search's speed")


def _score(case, seen):
    scores = [
        min(1.0, _best(one) / simulate(_parsed(rows), _costs(one)).step_time)
        for one, rows in zip(case, seen, strict=True)
    ]
    return mean(scores), (
        f"score {100 * mean(scores):.0f} %: the search's time over yours, the mean of "
        f"{len(case)} cases; the lowest is {100 * min(scores):.0f} %, with "
        f"within_memory{tuple(case[scores.index(min(scores))])}"
    )


@functools.cache
def _best(size):
    return search(*size[:2], _costs(size), walks=60).simulated.step_time


def _costs(size):
    return Costs(activation_bytes=1, memory_limit=size[2])


def _parsed(rows):
    return parse("\n".join(f"rank {r}: {' '.join(row)}" for r, row in enumerate(rows)))


def _wrong(size, rows):
    """Say why the orders are no schedule, can't run, or don't fit."""
    ranks, m, room = size
    call = f"within_memory{tuple(size)}"
    if len(rows) != ranks:
        return f"{call} gives {len(rows)} orders, and there are {ranks} ranks"
    if not all(rows):
        return f"{call}: rank {rows.index([])} does nothing"
    try:
        schedule = _parsed(rows)
        if schedule.rank_of != tuple(range(ranks)) or schedule.micro_batches != m:
            return (
                f"{call} is for stages {schedule.rank_of} and {schedule.micro_batches} "
                f"micro-batches: rank r holds stage r alone, and there are {m} micro-batches"
            )
        simulate(schedule, _costs(size))
    except OutOfMemory:
        return f"{call}: {_too_much(schedule, room)}"
    except BadSchedule as problem:
        return f"{call} cannot run: {problem}"
    except ValueError as problem:
        return f"{call} is no schedule: {problem}"
    return None


def _too_much(schedule, room):
    """Where more is kept than there is room for."""
    for rank, row in enumerate(schedule.ranks):
        kept = 0
        for position, action in enumerate(row):
            kept += (action.kind == "F") - (action.kind in "BW")
            if kept > room:
                return (
                    f"rank {rank} keeps {kept} micro-batches with {action} at position {position}, "
                    f"and there is room for {room}: each stays until its W has ended"
                )
    return "too much is kept"
