"""Each task: its reference is right, and mutants and wrong programs are told by their sentence.

A mutant is a change of the solution that the task names; programs.py holds work that is none: what
the check must name, and what it must pass. LAB_SEED=… draws other cases.
"""

import os
import shutil

import pytest

from helpers.check.compare import differences, same
from helpers.check.judge import RIGHT, drawn, judged, launched, not_begun, reason_of, solution_text
from helpers.check.marks import body_of, mutated, replaced
from helpers.check.ranks import WORK
from helpers.check.task import LABS, ROOT, load_task, task_ids

from .closed_forms import CLOSED_FORMS, PROVEN
from .programs import PROGRAMS

pytestmark = pytest.mark.patient

SEED = int(os.environ.get("LAB_SEED", 23))
LONG = ("DP-8", "DP-PP-2", "TW-1")
QUICK = {"LA-1", "TP-6"}  # on one device and on ranks; make test-all has all


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """A copy of the labs, in which work is planted."""
    place = tmp_path_factory.mktemp("work")
    for name in LABS:
        shutil.copytree(ROOT / name, place / name, ignore=shutil.ignore_patterns("__pycache__"))
    return place


def planted(task, work: str | dict[str, str]) -> str:
    """A task's file with other work in its places: a whole body, or {a piece: another one}."""
    text = solution_text(task)
    pieces = {} if isinstance(work, str) else work
    assert all(piece in body_of(text, task.id) for piece in pieces), (task.id, work)

    def put(one: str, body: str) -> str:
        if one == task.id and isinstance(work, str):
            return work
        for old, new in pieces.items() if one == task.id else ():
            body = body.replace(old, new)
        return body

    return replaced(text, put)


def wrong_with(task, cases, right, mutants):
    """What is wrong with a task's reference, and with its mutants."""
    tolerance = getattr(task.side, "TOLERANCE", None)
    if closed := CLOSED_FORMS.get(task.id):
        for case, seen in zip(cases, right, strict=True):
            yield from differences(closed(case), seen, tolerance)
    for sentence, seen in mutants.items():
        for other, theirs in {"the reference": right, **mutants}.items():
            if other != sentence and same(theirs, seen, tolerance):
                yield f"{sentence!r} looks like {other!r}"
        said = reason_of(task, cases, seen, right, lambda count, some=None: {
            one: mutants[one][:count] for one in some or mutants
        })  # fmt: skip
        if sentence not in (said or ""):
            yield f"{sentence!r} is told as {said!r}"


def programs_missed(task, root, right, mutants):
    """What the verdicts on the programs of a task should have said and didn't."""
    path = root / task.file

    def of_known(task, works, cases):
        """Run the work alone, as the rest has run."""
        if WORK not in works:
            return {one: mutants[one][: len(cases)] for one in works}, None
        seen, report = launched(task, {WORK: works[WORK]}, cases)
        return seen | {RIGHT: right}, report

    for name, work in ({"the solution": {}} | PROGRAMS.get(task.id, {})).items():
        work, says = work if isinstance(work, tuple) else (work, "")
        path.write_text(planted(task, work), encoding="utf-8")
        said = not_begun(task, root) or judged(task, root, SEED, of_known)
        passed = said["kind"] == "pass"
        if passed == bool(says) or says not in said["reason"]:
            yield f"{name}: expected {says or 'a pass'!r}\n{said['reason']}\n{said.get('details')}"
        if bool(said.get("score")) != (passed and hasattr(task.side, "passed")):
            yield f"{name}: only a pass of a scored task has a score"
    shutil.copy(ROOT / task.file, path)


def marked(task_id: str):
    return pytest.param(task_id, marks=[pytest.mark.slow] * (task_id not in QUICK))


@pytest.mark.long_for(*LONG)
@pytest.mark.parametrize("task_id", [marked(task_id) for task_id in task_ids()])
def test_the_reference_is_right_and_wrong_work_is_told_by_its_sentence(task_id, root):
    task = load_task(task_id)
    cases, right, mutants = drawn(task, SEED), None, {}
    if changes := getattr(task.side, "MUTANTS", {}):
        works = {RIGHT: (str(ROOT), solution_text(task))}
        for change, sentence in changes.items():
            works[sentence] = str(ROOT), mutated(solution_text(task), task_id, change)
        mutants, report = launched(task, works, cases)
        assert not report.failure, f"{report.failure}\n{report.failure.traceback}"
        right = mutants.pop(RIGHT)
    wrong = list(wrong_with(task, cases, right, mutants))
    wrong += programs_missed(task, root, right, mutants)
    assert not wrong, "\n".join(wrong)


def test_every_reference_is_proven():
    named = " ".join(PROVEN.values()).split()
    assert sorted([*CLOSED_FORMS, *named]) == sorted(task_ids())
    assert all((ROOT / path).exists() for path in PROVEN) and PROGRAMS.keys() <= set(task_ids())
