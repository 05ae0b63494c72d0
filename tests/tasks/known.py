"""What each task's solution and mutants lead to, run once for all tests of a session."""

import functools
import os
from typing import NamedTuple

from helpers.check.judge import RIGHT, launched, solution_text
from helpers.check.marks import mutated
from helpers.check.task import ROOT, load_task

SEEDS = (1, int(os.environ.get("LAB_SEED", 23)))


class Known(NamedTuple):
    """Cases, and what the solution and each mistake lead to in each of them."""

    cases: list
    right: list | None
    mutants: dict[str, list]

    def of_mutants(self, count: int, sentences: list[str] | None = None) -> dict[str, list]:
        return {one: self.mutants[one][:count] for one in sentences or self.mutants}


@functools.cache
def known(task_id: str) -> dict[int, Known]:
    """Return what is known of the cases of each seed, from one launch for all."""
    task = load_task(task_id)
    cases = {seed: list(task.side.cases(seed)) for seed in SEEDS}
    if not hasattr(task.side, "MUTANTS"):
        return {seed: Known(drawn, None, {}) for seed, drawn in cases.items()}
    text = solution_text(task)
    works = {RIGHT: (str(ROOT), text)}
    for change, sentence in task.side.MUTANTS.items():
        works[sentence] = str(ROOT), mutated(text, task_id, change)
    seen, report = launched(task, works, [case for drawn in cases.values() for case in drawn])
    assert not report.failure, f"{report.failure}\n{report.failure.traceback}"
    of_seed = {}
    for seed, drawn in cases.items():
        mutants = {name: [one.pop(0) for _ in drawn] for name, one in seen.items()}
        of_seed[seed] = Known(drawn, mutants.pop(RIGHT), mutants)
    return of_seed
