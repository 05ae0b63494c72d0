"""PP-5: write a schedule of your own that is fast in little memory."""

import functools
from statistics import mean

from helpers.check import Score
from helpers.schedules import BadSchedule, parse
from helpers.search import search
from helpers.simulate import Costs, simulate

HINTS = (
    "Do not think of a pattern. Think of one rank at one second: what can it do now, and which of "
    "it does another rank wait for?",
    "Count, for each stage, how many F, I and W are done. In each second, looking at counts that "
    "were copied when it began, for each stage: I if its gradient has come (on the last stage if "
    "F is done); else F if its input has come and there is room (done F - done W); else W if one "
    "is left; else nothing.",
)
LESSON, MINUTES = "beyond_1f1b", 60
SIZES = ((4, 8, 4), (4, 8, 7), (4, 8, 2), (3, 7, 5), (6, 12, 4), (5, 10, 7), (1, 3, 1), (3, 1, 3))
ENOUGH = 0.95


def observe(module, case):
    """For each (ranks, micro-batches, room) the order of every rank, as text."""
    return [[list(map(str, row)) for row in module.within_memory(*one)] for one in case]


def cases():
    """One case, whatever the seed: the score is a mean over these."""
    return [SIZES]


def explain(case, seen):
    wrong = (wrong_schedule(one, rows) for one, rows in zip(case, seen, strict=True))
    if sentence := next(filter(None, wrong), None):
        return sentence
    score, words = score_of(case, seen)
    if score < ENOUGH:
        return f"it runs and it fits, but it is slow: {words}; {100 * ENOUGH:.0f} % passes"


def passed(cases, seen):
    score, words = score_of(cases[0], seen[0])
    return Score(words, round(100 * score, 1))


def score_of(case, seen):
    scores = [
        min(1.0, best(one) / simulate(parsed(rows), costs(one)).step_time)
        for one, rows in zip(case, seen, strict=True)
    ]
    return mean(scores), (
        f"score {100 * mean(scores):.0f} %: the search's time over yours, the mean of "
        f"{len(case)} cases; the lowest is {100 * min(scores):.0f} %, with "
        f"within_memory{tuple(case[scores.index(min(scores))])}"
    )


@functools.cache
def best(size):
    return search(*size[:2], costs(size), walks=60).simulated.step_time


def costs(size):
    return Costs(activation_bytes=1, memory_limit=size[2])


def parsed(rows):
    return parse("\n".join(f"rank {r}: {' '.join(row)}" for r, row in enumerate(rows)))


def wrong_schedule(size, rows):
    ranks, m, room = size
    call = f"within_memory{tuple(size)}"
    if len(rows) != ranks:
        return f"{call} gives {len(rows)} orders, and there are {ranks} ranks"
    if not all(rows):
        return f"{call}: rank {rows.index([])} does nothing"
    try:
        schedule = parsed(rows)
        if schedule.rank_of != tuple(range(ranks)) or schedule.micro_batches != m:
            return (
                f"{call} is for stages {schedule.rank_of} and {schedule.micro_batches} "
                f"micro-batches: rank r holds stage r alone, and there are {m} micro-batches"
            )
        without_limit = simulate(schedule, Costs(activation_bytes=1))
    except BadSchedule as problem:
        return f"{call} cannot run: {problem}"
    except ValueError as problem:
        return f"{call} is no schedule: {problem}"
    for rank, most in enumerate(without_limit.peak_memory):
        if most > room:
            return (
                f"{call}: rank {rank} keeps {most:.0f} micro-batches at one time, and there is "
                f"room for {room}: each stays until its W has ended"
            )
