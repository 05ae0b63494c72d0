"""Each task's reference is right, and mutants and wrong programs are told by their sentence.

A mutant is a change of the solution that the task names; programs.py holds work that is none: what
the check must name, and what it must pass. LAB_SEED=… draws other cases.

known.json holds what was observed of each work, in short: a slip in what observes, or draws, alters
the reference and its mutants alike. After a change that is meant, LAB_KNOWN=write writes it anew.
"""

import json
import math
import os
import re
import shutil
import zlib
from inspect import signature
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
import torch.distributed as dist

from helpers.check.compare import differences, leaves
from helpers.check.judge import RIGHT, drawn, judged, launched, not_begun, reason_of
from helpers.check.marks import mutated
from helpers.check.ranks import WORK
from helpers.check.task import LABS, ROOT, load_task, part_of_tasks, solution_text, task_ids
from helpers.ranks import launch
from tasks._sent import noting_what_leaves

from .closed_forms import CLOSED_FORMS
from .programs import PROGRAMS

pytestmark = pytest.mark.patient

SEED = int(os.environ.get("LAB_SEED", 23))
NUMBER = re.compile(r"-?\d[\d.e-]*")
LONG = ("DP-8", "DP-PP-2", "TW-1")
KNOWN = Path(__file__).with_name("known.json")
ANSWERS = sorted(path.stem for path in ROOT.glob("tasks/answers/[a-z]*.py"))
VOLATILE = {"CK-1"}  # it observes inodes
QUICK = {"LA-1", "TP-6"}  # on one device and on ranks; make test-all has all


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """A copy of the labs, in which work is planted."""
    place = tmp_path_factory.mktemp("work")
    for name in LABS:
        shutil.copytree(ROOT / name, place / name, ignore=shutil.ignore_patterns("__pycache__"))
    return place


def in_short(seen) -> list:
    """Return a checksum of its words and whole numbers, and its other numbers; of many the sum."""
    found = leaves(seen)
    real = [each for each in found if isinstance(each, float) and math.isfinite(each)]
    words = [each for each in found if not isinstance(each, float)]
    if len(real) > 20:
        words.append(len(real))
        real = [sum(abs(each) * (1 + n % 5) for n, each in enumerate(real))]
    return [zlib.crc32(repr(words).encode()), *(float(f"{each:.6g}") for each in real)]


def changed(name: str, now: list, tolerance: float):
    """Yield what isn't as it is known; LAB_KNOWN=write makes it so."""
    known = json.loads(KNOWN.read_text("utf-8"))
    if os.environ.get("LAB_KNOWN") == "write":
        known[name] = now
        rows = [f"{json.dumps(key)}: {json.dumps(known[key])}" for key in sorted(known)]
        KNOWN.write_text("{\n" + ",\n".join(rows) + "\n}\n", "utf-8")
    elif SEED == 23:
        yield from differences(known[name], now, tolerance, (name, "what known.json has"))


def misjudged(task, root, cases, right, mutants, observed):
    """Yield what the verdicts on all works of a task should have said and didn't."""
    path, text = root / task.file, solution_text(task)
    works = {"the solution": {}} | PROGRAMS.get(task.id, {}) | {one: ({}, one) for one in mutants}

    def recorded(task, works, cases):
        """Run only what isn't known: a program, alone."""
        if WORK not in works:
            return {one: mutants[one][: len(cases)] for one in works}, None
        seen, report = {WORK: mutants.get(name)}, SimpleNamespace(failure=None, texts=())
        if name not in mutants:
            seen, report = launched(task, {WORK: works[WORK]}, cases)
        held = task.id not in VOLATILE and (name in mutants or not says)  # others may race
        observed.append(seen.get(WORK) if held else None)
        return seen | {RIGHT: right}, report

    for name, work in works.items():
        work, says = work if isinstance(work, tuple) else (work, "")
        change = work if isinstance(work, str) else tuple(work.items())
        path.write_text(mutated(text, task.id, change) if work else text, encoding="utf-8")
        said = not_begun(task, root) or judged(task, root, SEED, recorded)
        passed = said["kind"] == "pass"
        words = said["reason"] if said["kind"] == "mistake" else ""
        if name in mutants:  # what is said where no mutant is known
            words = reason_of(task, cases, mutants[name], right, lambda *_: {}) or ""
        score = said["score"].number if said.get("score") else 0
        observed.append([NUMBER.sub("#", words), score])
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
    wrong, observed = [], [cases]
    if closed := CLOSED_FORMS.get(task_id):
        wrong += differences([*map(closed, cases)], right, getattr(task.side, "TOLERANCE", None))
    wrong += misjudged(task, root, cases, right, mutants, observed)
    near = 0.02 if task_id == "DP-8" else 1e-4  # its training amplifies how a processor rounds
    wrong += changed(task_id, [in_short(each) for each in observed], near)
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("name", ANSWERS)
def test_what_a_lesson_asks_has_the_answers_that_are_known(name):
    """Those to numbers and predictions that need nothing measured."""
    answers, found = part_of_tasks(f"answers/{name}"), []
    for each in getattr(answers, "PREDICTIONS", {}).values():
        found.append([each.right if isinstance(each.right, str) else "", *each.wrong])
    for each in getattr(answers, "NUMBERS", {}).values():
        truth = each.truth
        if callable(truth):
            truth = "" if signature(truth).parameters else truth()
        found.append([float(truth or 0), each.unit, each.tolerance, *each.slips])
    assert not [*changed(name, found, 1e-9)]


def test_nothing_is_held_for_a_task_that_has_gone():
    known = json.loads(KNOWN.read_text("utf-8")).keys() - {*ANSWERS}
    assert CLOSED_FORMS.keys() | PROGRAMS.keys() | known == {*task_ids()}


def reduced_in_a_pair():
    pair = dist.new_group([1, 2])
    with noting_what_leaves() as sent:
        dist.get_rank() and dist.reduce(torch.ones(3), 1, group=pair)
    return [(each["to"], each["numbers"]) for each in sent]


def test_what_is_reduced_in_a_group_goes_to_the_rank_that_is_its_root():
    assert launch(reduced_in_a_pair, 3, quiet=True) == [[], [], [([1], 3)]]
