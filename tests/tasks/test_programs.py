"""Each task as a student meets it: right work passes, and each wrong program is named."""

import shutil

import pytest

from helpers.check.judge import RIGHT, judged, launched, not_begun
from helpers.check.marks import regions
from helpers.check.ranks import WORK
from helpers.check.student import LABS, files
from helpers.check.task import ROOT, load_module, load_task, task_ids

from .known import SEEDS, known
from .planted import HERE, Program, planted, programs_of

pytestmark = [pytest.mark.slow, pytest.mark.patient]

LONG = "CK-1 CO-1 DP-2 DP-8 DP-PP EP-1 GP-7 PP-1 PP-2 PP-3 RC-1 RC-2 TP-2 TW-1".split()


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """A copy of the labs, in which work is planted."""
    place = tmp_path_factory.mktemp("work")
    for name in LABS:
        shutil.copytree(ROOT / name, place / name, ignore=shutil.ignore_patterns("__pycache__"))
    return place


def missed(task_id: str, root) -> list[str]:
    """What the verdicts on all bodies of a task should have said and didn't."""
    task, drawn = load_task(task_id), known(task_id)[SEEDS[-1]]
    path = root / task.file
    solution = path.read_text(encoding="utf-8")

    def of_known(task, works, cases):
        """Run the work alone, as the rest has run."""
        if WORK not in works:
            return drawn.of_mutants(len(cases), [*works]), None
        seen, report = launched(task, {WORK: works[WORK]}, cases)
        return seen | {RIGHT: drawn.right}, report

    missing = []
    for program in (Program("the solution", {}), *programs_of(task)):
        path.write_text(planted(task, program.work, solution), encoding="utf-8")
        said = not_begun(task, root) or judged(task, root, SEEDS[-1], of_known)
        passed = said["kind"] == "pass"
        if passed == bool(program.says) or program.says not in said["reason"]:
            expected = f"{program.name}: expected {program.says or 'a pass'!r}"
            missing.append(f"{expected}\n{said['kind']}: {said['reason']}\n{said.get('details')}")
        if bool(said.get("score")) != (passed and hasattr(task.side, "passed")):
            missing.append(f"{program.name}: only a pass of a scored task has a score")
    path.write_text(solution, encoding="utf-8")
    return missing


@pytest.mark.long_for(*LONG)
@pytest.mark.parametrize("task_id", task_ids())
def test_right_work_passes_and_wrong_work_is_named(task_id, root):
    assert (found := missed(task_id, root)) == [], "\n".join(found)


def test_solutions_and_programs_belong_to_tasks():
    ids, marked = task_ids(), {}
    for name in files():
        if name.endswith(".py") and not name.startswith("tests/"):
            for region in regions((ROOT / name).read_text(encoding="utf-8")):
                marked.setdefault(region["task"], set()).add(name)
    assert set(marked) == set(ids)
    for task_id in ids:  # a later script may carry the solution along, marked too
        task = load_task(task_id)
        assert task.file in marked[task_id]
        wrong = any(program.says for program in programs_of(task))
        assert hasattr(task.side, "MUTANTS") or wrong
    for path in (HERE / "programs").glob("*.py"):
        assert load_module(path, f"programs_{path.stem}").PROGRAMS.keys() <= set(ids)


def test_tasks_have_one_form_and_their_programs_one_place():
    folders = {path.name for path in (ROOT / "tasks").iterdir() if path.is_dir()}
    assert folders - {"__pycache__"} == {"answers"}
