"""The plan on the first page, and what three processes measured for each move of it.

    python site/plans.py        run them all again: two minutes; writes plans.json

The page swaps two neighbors of this plan, so the plans that it can show are few, and each was run.
One that deadlocks has the sentence with which the lab refuses it instead.
"""

import json
from pathlib import Path

KEPT = Path(__file__).with_name("plans.json")
START = """F0 F1 F2 B0 F3 B1 B2 B3
F0 F1 F2 B1 B0 F3 B2 B3
F0 B0 F1 B1 F2 B2 F3 B3"""
ACTION_S = 0.04  # of each forward, and of each half of a backward
RUNS = 2  # the faster one is kept


def plans() -> dict[str, list[list[str]]]:
    """Return the plan and all that are one swap away; where a B precedes its own F, it's none."""
    start = [row.split() for row in START.splitlines()]
    found = [start]
    for rank, row in enumerate(start):
        for at in range(1, len(row)):
            if row[at - 1][1:] != row[at][1:]:
                moved = [*row[: at - 1], row[at], row[at - 1], *row[at + 1 :]]
                found.append([*start[:rank], moved, *start[rank + 1 :]])
    return {"|".join(" ".join(row) for row in plan): plan for plan in found}


def measured(plan: list[list[str]]) -> dict:
    """Return the milliseconds of a step and of each action in it; or why the plan can't run."""
    from helpers.pipeline import Pace, run_paced
    from helpers.schedules import BadSchedule, check, parse

    schedule = parse("\n".join(f"{rank}: {' '.join(row)}" for rank, row in enumerate(plan)))
    try:
        check(schedule)
    except BadSchedule as error:
        return {"hangs": str(error)}
    steps = [run_paced(schedule, Pace(ACTION_S, ACTION_S, ACTION_S)) for _ in range(RUNS)]
    trace = min(steps, key=lambda step: step.step_time).trace.from_zero()
    rows = [
        [[round(1000 * e.start), round(1000 * e.end)] for e in events if e.kind in "FB"]
        for events in ([e for e in trace.events if e.rank == rank] for rank in range(len(plan)))
    ]
    return {"ms": round(1000 * trace.duration), "rows": [sorted(row) for row in rows]}


if __name__ == "__main__":
    found = {name: measured(plan) for name, plan in plans().items()}
    kept = {"start": START.split("\n"), "unit": 1000 * ACTION_S, "measured": found}
    KEPT.write_text(json.dumps(kept, separators=(",", ":")) + "\n", encoding="utf-8")
