"""PP-5: a schedule of one's own within a memory limit, scored against a search."""

from statistics import mean

from helpers.grade import Mistake, Submission, Task

TASK = Task(
    id="PP-5",
    title="write a schedule of your own that is fast in little memory",
    file="PP/schedules/orders.py",
    function="within_memory",
    notebook="07",
    points=30,
    minutes=60,
    hints=(
        "Do not think of a pattern. Think of one rank at one second: what can it do now, and which "
        "of it does another rank wait for?",
        "Count, for each stage, how many F, I and W are done. Go from second to second. What was "
        "done before this second began is ready now. A rank keeps done F - done W micro-batches.",
        "In each second, for each stage: I if its gradient has come (on the last stage if F is "
        "done); else F if its input has come and there is room; else W if one is left; else "
        "nothing. Look at counts that were copied when the second began.",
    ),
)
CASES = ((4, 8, 4), (4, 8, 7), (4, 8, 2), (3, 7, 5), (6, 12, 4), (5, 10, 7), (1, 3, 1), (3, 1, 3))
ENOUGH = 0.95


def work(module):
    """The orders that the student's function gives, by case, as text."""
    return [[list(map(str, row)) for row in module.within_memory(*case)] for case in CASES]


def verify(submission: Submission) -> str:
    """Give the score as a sentence. Raises Mistake or WorkFailed."""
    (answers,) = submission.on_ranks(work, 1)
    scores = [score(case, rows) for case, rows in zip(CASES, answers, strict=True)]
    worst = CASES[scores.index(min(scores))]
    words = (
        f"score {100 * mean(scores):.0f} %: the search's time over yours, the mean of "
        f"{len(CASES)} cases; the lowest is {100 * min(scores):.0f} %, with within_memory{worst}"
    )
    if mean(scores) < ENOUGH:
        raise Mistake(f"it runs and it fits, but it is slow: {words}; {100 * ENOUGH:.0f} % passes")
    return words


def score(case, rows):
    """The seconds that a search finds over those of the orders. Raises Mistake."""
    from helpers.schedules import BadSchedule, parse
    from helpers.search import search
    from helpers.simulate import Costs, OutOfMemory, simulate

    ranks, m, room = case
    costs = Costs(activation_bytes=1, memory_limit=room)
    call = f"within_memory{case}"
    if len(rows) != ranks:
        raise Mistake(f"{call} gives {len(rows)} orders, and there are {ranks} ranks")
    if not all(rows):
        raise Mistake(f"{call}: rank {rows.index([])} does nothing")
    text = "\n".join(f"rank {r}: {' '.join(row)}" for r, row in enumerate(rows))
    try:
        schedule = parse(text)
        if schedule.rank_of != tuple(range(ranks)) or schedule.micro_batches != m:
            raise Mistake(
                f"{call} is for stages {schedule.rank_of} and {schedule.micro_batches} "
                f"micro-batches: rank r holds stage r alone, and there are {m} micro-batches"
            )
        time = simulate(schedule, costs).step_time
    except OutOfMemory:
        raise Mistake(f"{call}: {_too_much(schedule, room)}") from None
    except BadSchedule as problem:
        raise Mistake(f"{call} cannot run: {problem}") from None
    except ValueError as problem:
        raise Mistake(f"{call} is no schedule: {problem}") from None
    best = search(ranks, m, costs, walks=60).simulated.step_time
    return min(1.0, best / time)


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
