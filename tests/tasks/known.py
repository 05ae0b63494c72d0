"""What each task's solution and mutants lead to, run once for all tests of a session."""

import functools
import itertools
import os
from types import SimpleNamespace

from helpers.grade.judge import Drawn, the_lab
from helpers.grade.reference import mutants_of
from helpers.grade.task import load_task, load_whole

SEEDS = (1, int(os.environ.get("LAB_SEED", 23)))


@functools.cache
def known(task_id: str) -> dict[int, Drawn]:
    """{seed: its cases, and what is known of them}, from one launch for all."""
    found = load_task(task_id)
    side = load_whole(found)
    cases = {seed: list(side.cases(seed)) for seed in SEEDS}
    if not hasattr(side, "MUTANTS"):
        return {seed: Drawn(side, drawn, None) for seed, drawn in cases.items()}
    changes = mutants_of(side)
    together = list(itertools.chain(*cases.values()))
    seen = the_lab().observe(found, [{}, *changes.values()], together)
    of_seed = {}
    for seed, drawn in cases.items():
        right, *wrong = ([one.pop(0) for _ in drawn] for one in seen)
        mutants = dict(zip(changes, wrong, strict=True))
        of_seed[seed] = Drawn(side, drawn, SimpleNamespace(right=right, mutants=told(mutants)))
    return of_seed


def told(mutants: dict[str, list]):
    """`Reference.mutants` for mutants that have run on every case."""
    return lambda cases=None, of=(): {each: mutants[each][:cases] for each in of or mutants}
