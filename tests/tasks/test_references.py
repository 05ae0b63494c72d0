"""Each task that names mutants: its reference is right, and each mutant has a sentence of its own.

A reference can't prove itself. CLOSED_FORMS says what each is compared with: arithmetic on the
case, in this process, with no message in it; or another test, which proves the script that the
solution stands in. Those of a lab stand in closed_forms/.
"""

import ast
import gc
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from helpers.grade.judge import the_lab
from helpers.grade.reference import Reference, mutated
from helpers.grade.shown import shown_part
from helpers.grade.task import ROOT, TaskError, load_module, load_task, load_truth, task_ids
from helpers.grade.verify import coincide, differences, mistakes, verify

SEEDS = (1, 23)
IDS = [task_id for task_id in task_ids() if hasattr(load_truth(load_task(task_id)), "MUTANTS")]


CLOSED_FORMS = {}
for path in sorted((ROOT / "tests" / "tasks" / "closed_forms").glob("*.py")):
    CLOSED_FORMS |= load_module(path, f"closed_forms_{path.stem}").CLOSED_FORMS


@pytest.fixture(scope="module")
def lab():
    yield the_lab()


@pytest.mark.parametrize("task_id", IDS)
def test_the_reference_is_right_and_each_mutant_is_told_by_its_own_sentence(task_id, lab):
    found = load_task(task_id)
    truth = load_truth(found)
    tolerance, closed = getattr(truth, "TOLERANCE", None), CLOSED_FORMS[task_id]
    for seed in SEEDS:
        reference = Reference(lab, found, truth, list(truth.cases(seed)))
        for case in [] if isinstance(closed, str) else reference.cases:
            assert list(differences(closed(case), reference.truth(case), tolerance)) == []
        assert coincide(reference, reference.cases) == ""
        for sentence, mutant in mistakes(reference).items():
            seen = [mutant(case) for case in reference.cases]
            assert sentence in verify(reference, reference.cases, seen, found.task.ranks)


def test_every_such_task_has_a_closed_form_and_each_closed_form_a_task():
    assert IDS and set(IDS) == set(CLOSED_FORMS)
    for where in {closed for closed in CLOSED_FORMS.values() if isinstance(closed, str)}:
        name, _, test = where.partition("::")
        tree = ast.parse((ROOT / name).read_text(encoding="utf-8"))
        assert test in {getattr(node, "name", "") for node in tree.body}, where


@pytest.mark.parametrize("task_id", IDS)
def test_the_work_and_the_students_see_how_they_are_observed_and_nothing_else(task_id):
    path = load_task(task_id).path
    shown = shown_part(path.read_text(encoding="utf-8"))
    scope = {"__name__": "shown"}
    exec(compile(shown, str(path), "exec"), scope)  # it's whole
    assert scope["TASK"].id == task_id and callable(scope["observe"])
    assert not {"MUTANTS", "cases", "stopped", "explain"} & scope.keys()


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


def test_a_reference_that_is_broken_turns_red(monkeypatch, lab):
    """The closed form would see it, and so would two mutants that are the same."""
    found = load_task("DP-1")
    truth = load_truth(found)
    monkeypatch.setattr(truth, "MUTANTS", {"a": {"flat /= world_size": "pass"}, "b": {}})
    reference = Reference(lab, found, truth, list(truth.cases(1)))
    assert coincide(reference, reference.cases) == "'b' looks like 'the truth'"
    torch.testing.assert_close(
        reference.MISTAKES["a"](reference.cases[0])[0]["gradient"]["bias"],
        reference.truth(reference.cases[0])[0]["gradient"]["bias"] * 4,
    )


@pytest.mark.parametrize(
    "old, words", [("flat -= 1", "is not in the solution"), ("flat", "stands 5 times in")]
)
def test_a_piece_that_the_solution_does_not_have_once_is_an_error_of_the_task(old, words):
    task = load_task("DP-1").task
    with pytest.raises(TaskError, match=words):
        mutated(task, {old: "pass"}, (ROOT / task.file).read_text(encoding="utf-8"))


def test_further_lines_are_indented_as_the_line_they_stand_in():
    task = load_task("GP-2").task
    text = (ROOT / task.file).read_text(encoding="utf-8")
    found = mutated(task, {"p.grad /= ranks": "p.grad /= ranks\nbreak"}, text)
    assert "            p.grad /= ranks\n            break\n" in found
