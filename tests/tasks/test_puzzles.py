"""The solutions of the puzzles: the simulated cluster beside arithmetic, on cases drawn anew."""

import pytest

from helpers.grade.task import ROOT, load_module, load_task, load_whole
from tasks._pz import outcome_of, sizes

# `enough` is a closed form, or published.
EXACT = [f"PZ-{number}" for number in range(1, 9)]


@pytest.mark.parametrize("task_id", [*EXACT, "PZ-P0", "PZ-P1", "PZ-P2", "PZ-P3"])
def test_the_solution_takes_what_is_enough_and_where_it_is_a_formula_no_less(task_id, monkeypatch):
    found = load_task(task_id)
    task = load_whole(found)
    monkeypatch.syspath_prepend(str(ROOT / "puzzles"))
    module = load_module(ROOT / found.task.file, f"puzzle_{task_id}")
    for case in {task.name(case): case for seed in (1, 23) for case in task.cases(seed)}.values():
        took = outcome_of(task.observe(module, case))
        time, memory = task.enough(*sizes(case))
        least = time * (1 - 1e-9) if task_id in EXACT else 0
        assert least <= took.time <= time * (1 + 1e-9) and took.memory <= memory
        if task_id in ("PZ-1", "PZ-2"):
            assert took.memory == memory
