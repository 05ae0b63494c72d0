"""The solutions of the puzzles: the simulated cluster beside arithmetic, on cases drawn anew."""

import pytest

from helpers.check.task import ROOT, load_module, load_task
from tasks._pz import outcome_of, sizes

# `enough` is a closed form, or published.
EXACT = [f"PZ-{number}" for number in range(1, 9)]


@pytest.mark.parametrize("task_id", [*EXACT, "PZ-P0", "PZ-P1", "PZ-P2", "PZ-P3"])
def test_the_solution_takes_what_is_enough_and_where_it_is_a_formula_no_less(task_id, monkeypatch):
    task = load_task(task_id)
    monkeypatch.syspath_prepend(str(ROOT / "puzzles"))
    module = load_module(ROOT / task.file, f"puzzle_{task_id}")
    drawn = [case for seed in (1, 23) for case in task.side.cases(seed)]
    for case in {task.side.name(case): case for case in drawn}.values():
        took = outcome_of(task.side.observe(module, case))
        time, memory = task.side.enough(*sizes(case))
        least = time * (1 - 1e-9) if task_id in EXACT else 0
        assert least <= took.time <= time * (1 + 1e-9) and took.memory <= memory
        if task_id in ("PZ-1", "PZ-2"):
            assert took.memory == memory
