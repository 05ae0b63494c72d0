"""Each task as a student meets it: right work passes, and each wrong program is named."""

import queue
from concurrent.futures import ThreadPoolExecutor

import pytest

from helpers.grade.judge import judge
from helpers.grade.marks import find_regions
from helpers.grade.submission import Submission
from helpers.grade.task import ROOT, load_module, load_task, load_whole, task_ids
from helpers.grade.tracked import tracked_files

from .known import SEEDS, known
from .planted import HERE, Program, planted, programs_of

pytestmark = [pytest.mark.slow, pytest.mark.patient]

AT_ONCE = 2
LONG = "CK-1 CO-1 DP-2 DP-8 DP-PP EP-1 GP-7 PP-1 PP-2 PP-3 RC-1 RC-2 TP-2 TW-1".split()
NAMES = [name for name in tracked_files(ROOT)[0] if name.endswith((".py", ".json"))]


def missed(task_id: str, submission: Submission) -> list[str]:
    """What the verdicts on all bodies of a task should have said and didn't."""
    found, drawn = load_task(task_id), known(task_id)[SEEDS[-1]]
    path = submission.root / found.task.file
    solution = path.read_text(encoding="utf-8")
    missing = []
    for program in (Program("the solution", {}), *programs_of(found.task)):
        path.write_text(planted(found.task, program.work, solution), encoding="utf-8")
        said = judge(found, submission, drawn=lambda *_: drawn)
        if said.passed == bool(program.says) or program.says not in said.reason:
            expected = f"{program.name}: expected {program.says or 'a pass'!r}"
            missing.append(f"{expected}\n{said}\n{said.details}")
        if bool(said.score) != (said.passed and hasattr(drawn.side, "passed")):
            missing.append(
                f"{program.name}: only a pass of a scored task has a score: {said.score}"
            )
    path.write_text(solution, encoding="utf-8")
    return missing


@pytest.fixture(scope="module")
def ahead(request, tmp_path_factory):
    """Begin what the chosen tests will ask for, several at once: most of a check is waiting."""
    seats: queue.Queue[Submission] = queue.Queue()
    labs = {load_task(task_id).task.file.split("/")[0] for task_id in task_ids()}
    for _ in range(AT_ONCE):
        root = tmp_path_factory.mktemp("work")
        for name in NAMES:
            if name.split("/")[0] in labs:
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_bytes((ROOT / name).read_bytes())
        seats.put(Submission(root, confined=False))

    def run(task_id: str) -> list[str]:
        submission = seats.get()
        try:
            return missed(task_id, submission)
        finally:
            seats.put(submission)

    name = test_right_work_passes_and_wrong_work_is_named.__name__
    items = [item for item in request.session.items if item.originalname == name]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        jobs = {id_: pool.submit(run, id_) for id_ in (i.callspec.params["task_id"] for i in items)}
        yield lambda task_id: jobs[task_id].result()
        pool.shutdown(cancel_futures=True)
    while not seats.empty():
        seats.get().close()


@pytest.mark.long_for(*LONG)
@pytest.mark.parametrize("task_id", task_ids())
def test_right_work_passes_and_wrong_work_is_named(task_id, ahead):
    assert (found := ahead(task_id)) == [], "\n".join(found)


def test_solutions_and_programs_belong_to_tasks():
    ids, marked = task_ids(), {}
    for name in NAMES:
        if name.endswith(".py") and not name.startswith("tests/"):
            for region in find_regions((ROOT / name).read_text(encoding="utf-8"), name, ids):
                marked.setdefault(region.task, set()).add(name)
    assert set(marked) == set(ids)
    for task_id in ids:  # a later script may carry the solution along, marked too
        task = load_task(task_id).task
        assert task.file in marked[task_id]
        programs = programs_of(task)
        side = load_whole(load_task(task_id))
        assert hasattr(side, "MUTANTS") or any(program.says for program in programs)
    for path in (HERE / "programs").glob("*.py"):
        assert load_module(path, f"programs_{path.stem}").PROGRAMS.keys() <= set(ids)


def test_tasks_have_one_form_and_their_programs_one_place():
    folders = {path.name for path in (ROOT / "tasks").iterdir() if path.is_dir()}
    assert folders - {"__pycache__"} == {"answers"}
