"""Each task as a student meets it: right work passes, and each wrong program is named."""

import queue
import textwrap
from concurrent.futures import ThreadPoolExecutor

import pytest

from helpers.grade.judge import judge
from helpers.grade.marks import find_regions, replace_regions
from helpers.grade.submission import Submission
from helpers.grade.task import ROOT, load_module, load_task, task_ids
from helpers.grade.tracked import tracked_files

AT_ONCE = 2
NAMES = [name for name in tracked_files(ROOT)[0] if name.endswith((".py", ".json"))]


def programs_of(task_id: str) -> tuple[dict[str, str], tuple]:
    """The right bodies of a task, and the wrong programs."""
    path = ROOT / "tasks" / "programs" / load_task(task_id).path.name
    if not path.is_file():
        return {}, ()
    planted = load_module(path, f"programs_{path.stem}")
    return getattr(planted, "RIGHT", {}), planted.PROGRAMS


def planted(task, body: str) -> str:
    """The text of the task's file with another body in the place of its solution."""
    text, body = (ROOT / task.file).read_text(encoding="utf-8"), textwrap.dedent(body)
    return replace_regions(text, lambda r: body if r.task == task.id else r.body, task.file)


def missed(task_id: str, submission: Submission) -> list[str]:
    """What the verdicts on all bodies of a task should have said and didn't."""
    found, (right, wrong) = load_task(task_id), programs_of(task_id)
    path = submission.root / found.task.file
    solution = path.read_text(encoding="utf-8")
    texts = [("the solution", solution, "")]
    texts += [(name, planted(found.task, body), "") for name, body in right.items()]
    texts += [(program.name, planted(found.task, program.body), program.says) for program in wrong]
    missing = []
    for name, text, says in texts:
        path.write_text(text, encoding="utf-8")
        said = judge(found, submission)
        if said.passed == bool(says) or says not in said.reason:
            missing.append(f"{name}: expected {says or 'a pass'!r}\n{said}\n{said.details}")
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

    items = [item for item in request.session.items if "ahead" in item.fixturenames]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        jobs = {id_: pool.submit(run, id_) for id_ in (i.callspec.params["task_id"] for i in items)}
        yield lambda task_id: jobs[task_id].result()
        pool.shutdown(cancel_futures=True)
    while not seats.empty():
        seats.get().close()


@pytest.mark.parametrize("task_id", task_ids())
def test_right_work_passes_and_wrong_work_is_named(task_id, ahead):
    assert (found := ahead(task_id)) == [], "\n".join(found)


def test_solutions_and_programs_belong_to_tasks():
    ids, marked = task_ids(), {}
    for name in NAMES:
        if name.endswith(".py") and not name.startswith("tests/grade/"):
            for region in find_regions((ROOT / name).read_text(encoding="utf-8"), name, ids):
                marked.setdefault(region.task, set()).add(name)
    assert set(marked) == set(ids)
    for task_id in ids:  # a later script may carry the solution along, marked too
        wrong = programs_of(task_id)[1]
        assert load_task(task_id).task.file in marked[task_id]
        assert all(p.says for p in wrong) and len({p.name for p in wrong}) == len(wrong)
    files = {path.stem for path in (ROOT / "tasks" / "programs").glob("[!_]*.py")}
    assert files <= {task_id.lower().replace("-", "_") for task_id in ids}
