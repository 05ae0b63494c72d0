"""Each task that names mutants: its reference is right, and each mutant has a sentence of its own.

A reference can't prove itself. CLOSED_FORMS says what each is compared with: arithmetic on the
case, in this process, with no message in it; or another test, which proves the script that the
solution stands in. Those of a lab stand in closed_forms/. LAB_SEED=… draws other cases.
"""

import ast
import gc
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from helpers.grade.payload import pack, unpack
from helpers.grade.shown import shown_part
from helpers.grade.task import ROOT, load_module, load_task, load_whole, task_ids
from helpers.grade.verify import differences, same, verify

from .known import SEEDS, known

pytestmark = pytest.mark.patient

SIDES = {task_id: load_whole(load_task(task_id)) for task_id in task_ids()}
IDS = [task_id for task_id, side in SIDES.items() if hasattr(side, "MUTANTS")]

CLOSED_FORMS = {}
for path in sorted((ROOT / "tests" / "tasks" / "closed_forms").glob("*.py")):
    CLOSED_FORMS |= load_module(path, f"closed_forms_{path.stem}").CLOSED_FORMS


def wrong_with(task_id, closed, of_seed):
    """What is wrong with a task's reference, and with its mutants, on the cases of each seed."""
    ranks, tolerance = load_task(task_id).task.ranks, getattr(SIDES[task_id], "TOLERANCE", None)
    for drawn in of_seed.values():
        right, mutants = drawn.reference.right, drawn.reference.mutants()
        for case, seen in [] if isinstance(closed, str) else zip(drawn.cases, right, strict=True):
            yield from differences(closed(case), seen, tolerance)
        for sentence, seen in mutants.items():
            for other, theirs in {"the reference": right, **mutants}.items():
                if other != sentence and same(theirs, seen, tolerance):
                    yield f"{sentence!r} looks like {other!r}"
            said = verify(drawn.side, drawn.cases, seen, ranks, drawn.reference)
            if sentence not in (said or ""):
                yield f"{sentence!r} is told as {said!r}"


QUICK = {"LA-3", "TP-6"}  # on one device and on ranks; make test-all has all


def marked(task_id: str):
    return pytest.param(task_id, marks=[pytest.mark.slow] * (task_id not in QUICK))


@pytest.mark.long_for("DP-PP-2", "GP-7", "TP-2", "TW-1")
@pytest.mark.parametrize("task_id", [marked(task_id) for task_id in IDS])
def test_the_reference_is_right_and_each_mutant_is_told_by_its_own_sentence(task_id):
    assert task_id in CLOSED_FORMS, "write in closed_forms/ beside this file what proves it"
    assert list(wrong_with(task_id, CLOSED_FORMS[task_id], known(task_id))) == [], SEEDS


def test_every_task_has_a_closed_form_and_each_closed_form_a_task():
    """Where no mutant compares with the solution, another test proves that it is right."""
    assert IDS and set(SIDES) == set(CLOSED_FORMS)
    assert all(isinstance(CLOSED_FORMS[task_id], str) for task_id in {*SIDES} - {*IDS})
    for where in {closed for closed in CLOSED_FORMS.values() if isinstance(closed, str)}:
        name, _, test = where.partition("::")
        tree = ast.parse((ROOT / name).read_text(encoding="utf-8"))
        assert test in {getattr(node, "name", "") for node in tree.body}, where


@pytest.mark.parametrize("task_id", SIDES)
def test_its_facts_are_true_and_its_cases_plain_data_that_are_drawn_anew(task_id):
    task, side = load_task(task_id).task, SIDES[task_id]
    defined = {getattr(n, "name", "") for n in ast.walk(ast.parse((ROOT / task.file).read_text()))}
    assert {function.rpartition(".")[2] for function in task.functions} <= defined
    assert len(set(task.hints)) == 3 and side.observe.__code__.co_argcount == 2
    for seed in SEEDS:
        cases = list(side.cases(seed))
        assert cases and same(cases, unpack(pack(cases)), 0.0)
        assert same(list(side.cases(seed)), cases, 0.0), "one seed, two draws"


@pytest.mark.parametrize("task_id", SIDES)
def test_the_work_and_the_students_see_how_they_are_observed_and_nothing_else(task_id):
    path = load_task(task_id).path
    shown = shown_part(path.read_text(encoding="utf-8"))
    scope = {"__name__": "shown"}
    exec(compile(shown, str(path), "exec"), scope)  # it's whole
    assert scope["TASK"].title == load_task(task_id).task.title and callable(scope["observe"])
    hidden = {"MUTANTS", "cases", "stopped", "explain", "enough", "ENOUGH", "passed"}
    assert not hidden & scope.keys()


def test_the_judge_and_the_reference_may_ask_for_it_at_once():
    """What a thread collects in the middle of a parse may let another thread begin one."""
    text = load_task("TP-6").path.read_text(encoding="utf-8")
    before = gc.get_threshold(), sys.getswitchinterval()

    class Circle:
        def __init__(self):
            self.itself = self

        def __del__(self):
            sum(range(9999))

    def ask(_):
        Circle()
        return shown_part(text)

    gc.set_threshold(50)
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            assert len(set(pool.map(ask, range(240)))) == 1
    finally:
        gc.set_threshold(*before[0])
        sys.setswitchinterval(before[1])
