"""Each task's truth: what it draws and what its mistakes lead to, without a process."""

import ast
from functools import cache

import pytest

from helpers.grade.example import programs_of
from helpers.grade.parcel import pack, unpack
from helpers.grade.task import ROOT, load_module, load_task, load_truth, task_ids
from helpers.grade.verify import draw, mistakes, same, verify

SEEDS = (1, 23, 456)
TRAINS = ("DP-PP-2",)  # its truth trains a model for each case, for seconds: one seed
WRITTEN = [path.stem for path in sorted((ROOT / "tasks" / "truth").glob("[!_]*.py"))]
WRITTEN = [name for name in WRITTEN if not name.startswith("lesson_")]
IDS = [task_id for task_id in task_ids() if task_id.lower().replace("-", "_") in WRITTEN]


@cache
def loaded(task_id):
    found = load_task(task_id)
    return found.task, load_truth(found)


@cache
def drawn(task_id):
    """The task, its truth, and the cases of each seed."""
    task, truth = loaded(task_id)
    return task, truth, {seed: draw(truth, seed) for seed in SEEDS[: 1 if task_id in TRAINS else 3]}


def test_every_task_has_a_truth_and_every_truth_a_task():
    """Or it stands in the task's own file: tests/tasks/test_references.py has those."""
    whole = [i for i in task_ids() if hasattr(load_module(load_task(i).path, "lab_task"), "cases")]
    assert IDS and len(IDS) == len(WRITTEN)
    assert sorted(IDS + whole) == sorted(task_ids())


@pytest.mark.parametrize("task_id", IDS)
def test_its_facts(task_id):
    task, _ = loaded(task_id)
    tree = ast.parse((ROOT / task.file).read_text(encoding="utf-8"))
    defined = {getattr(node, "name", "") for node in ast.walk(tree)}
    assert {function.rpartition(".")[2] for function in task.functions} <= defined
    assert len(set(task.hints)) == 3
    run = load_module(load_task(task_id).path, "lab_task").run
    assert run.__code__.co_argcount == 2
    source = load_task(task_id).path.read_text(encoding="utf-8")
    assert "tasks.truth" not in source and "tasks import truth" not in source


@pytest.mark.parametrize("task_id", IDS)
def test_its_cases_are_plain_data_and_drawn_anew(task_id):
    _, truth, drawn_cases = drawn(task_id)
    for seed, cases in drawn_cases.items():
        assert cases and same(cases, unpack(pack(cases)), 0.0)
        assert same(list(truth.cases(seed)), list(truth.cases(seed)), 0.0), "one seed, two draws"
        if hasattr(truth, "truth"):
            observed = [truth.truth(case) for case in cases]
            assert verify(truth, cases, unpack(pack(observed)), loaded(task_id)[0].ranks) is None


@pytest.mark.parametrize("task_id", IDS)
def test_each_mistake_has_its_own_sentence(task_id):
    task, truth, drawn_cases = drawn(task_id)
    # What is no mistake of arithmetic stands among the programs, which run on ranks.
    assert mistakes(truth) or any(program.says for program in programs_of(task))
    for cases in drawn_cases.values():  # in none of which two of them coincide: `draw` sees to that
        for sentence, mistake in mistakes(truth).items():
            said = verify(truth, cases, [mistake(case) for case in cases], task.ranks)
            assert said is not None and sentence in said
