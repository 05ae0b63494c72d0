"""Each task that names mutants: its reference is right, and each mutant has a sentence of its own.

A reference can't prove itself. CLOSED_FORMS says what each is compared with: arithmetic on the
case, in this process, with no message in it; or another test, which proves the script that the
solution stands in. Those of a lab stand in closed_forms/. LAB_SEED=… draws other cases.
"""

import ast

import pytest

from helpers.check.compare import differences, same
from helpers.check.judge import reason_of
from helpers.check.task import ROOT, load_module, load_task, task_ids

from .known import SEEDS, known

pytestmark = pytest.mark.patient

TASKS = {task_id: load_task(task_id) for task_id in task_ids()}
IDS = [task_id for task_id, task in TASKS.items() if hasattr(task.side, "MUTANTS")]

CLOSED_FORMS = {}
for path in sorted((ROOT / "tests" / "tasks" / "closed_forms").glob("*.py")):
    CLOSED_FORMS |= load_module(path, f"closed_forms_{path.stem}").CLOSED_FORMS


def wrong_with(task, closed):
    """What is wrong with a task's reference, and with its mutants, on the cases of each seed."""
    tolerance = getattr(task.side, "TOLERANCE", None)
    for found in known(task.id).values():
        pairs = zip(found.cases, found.right, strict=True)
        for case, seen in [] if isinstance(closed, str) else pairs:
            yield from differences(closed(case), seen, tolerance)
        for sentence, seen in found.mutants.items():
            for other, theirs in {"the reference": found.right, **found.mutants}.items():
                if other != sentence and same(theirs, seen, tolerance):
                    yield f"{sentence!r} looks like {other!r}"
            said = reason_of(task, found.cases, seen, found.right, found.of_mutants)
            if sentence not in (said or ""):
                yield f"{sentence!r} is told as {said!r}"


QUICK = {"LA-1", "TP-6"}  # on one device and on ranks; make test-all has all


def marked(task_id: str):
    return pytest.param(task_id, marks=[pytest.mark.slow] * (task_id not in QUICK))


@pytest.mark.long_for("DP-PP-2", "GP-7", "TP-2", "TW-1")
@pytest.mark.parametrize("task_id", [marked(task_id) for task_id in IDS])
def test_the_reference_is_right_and_each_mutant_is_told_by_its_own_sentence(task_id):
    assert task_id in CLOSED_FORMS, "write in closed_forms/ beside this file what proves it"
    assert list(wrong_with(TASKS[task_id], CLOSED_FORMS[task_id])) == [], SEEDS


def test_every_task_has_a_closed_form_and_each_closed_form_a_task():
    """Where no mutant compares with the solution, another test proves that it is right."""
    assert IDS and set(TASKS) == set(CLOSED_FORMS)
    assert all(isinstance(CLOSED_FORMS[task_id], str) for task_id in {*TASKS} - {*IDS})
    for where in {closed for closed in CLOSED_FORMS.values() if isinstance(closed, str)}:
        name, _, test = where.partition("::")
        tree = ast.parse((ROOT / name).read_text(encoding="utf-8"))
        assert test in {getattr(node, "name", "") for node in tree.body}, where


@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
def test_its_facts_are_true_and_its_cases_are_drawn_anew(task):
    defined = {getattr(n, "name", "") for n in ast.walk(ast.parse((ROOT / task.file).read_text()))}
    assert {name.rpartition(".")[2] for name in (task.function, *task.also)} <= defined
    assert len(set(task.hints)) == len(task.hints) > 1
    assert task.side.observe.__code__.co_argcount == 2
    for seed in SEEDS:
        cases = list(task.side.cases(seed))
        assert cases and same(list(task.side.cases(seed)), cases, 0.0), "one seed, two draws"
