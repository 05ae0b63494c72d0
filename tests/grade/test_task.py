import pytest

from helpers.grade.marks import find_regions
from helpers.grade.task import ROOT, Task, TaskError, load_module, load_task, task_ids
from helpers.grade.tracked import tracked_files

GOOD = {
    "id": "DP-1",
    "title": 'say "yes"',
    "file": "DP/a.py",
    "function": "f",
    "notebook": "03",
    "points": 1,
    "minutes": 1,
    "hints": ("a", "b", "c"),
}


def test_stub_is_python_and_says_what_not_done_says():
    task = Task(**GOOD)
    with pytest.raises(NotImplementedError) as caught:
        exec(task.stub())
    assert str(caught.value) == task.not_done == 'Task DP-1: say "yes". Write f() in DP/a.py.'


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"id": "dp 1"}, "task id 'dp 1': write capital letters"),
        ({"hints": ("a", "b")}, "task DP-1: give 3 hints, not 2"),
        ({"points": 0}, "points, minutes and seconds must be above 0"),
        ({"file": "../a.py"}, "from the repository's root, with '/', not '../a.py'"),
        ({"file": "DP\\a.py"}, "from the repository's root"),
    ],
)
def test_wrong_task(change, sentence):
    with pytest.raises(TaskError) as caught:
        Task(**GOOD | change)
    assert sentence in str(caught.value)


def test_ids_come_from_the_folder_in_order(tmp_path):
    for name in ("dp_10.py", "dp_2.py", "pp_1f1b_1.py", "_shared.py", "notes.md"):
        (tmp_path / name).touch()
    assert task_ids(tmp_path) == ["DP-2", "DP-10", "PP-1F1B-1"]


def test_unknown_task_names_those_that_exist(small):
    small.write("tasks/t_2.py", "")
    with pytest.raises(TaskError, match="there is no task 'T-9': the tasks are T-1, T-2"):
        load_task("T-9", small.tasks)


def test_task_file_without_verify(small):
    path = small.write("tasks/t_2.py", "TASK = 1")
    with pytest.raises(TaskError) as caught:
        load_task("T-2", small.tasks)
    assert str(caught.value) == f"{path}: a task file must define verify"


def test_task_file_with_another_id(small):
    (small.tasks / "t_1.py").rename(small.tasks / "t_2.py")
    with pytest.raises(TaskError, match="the file's name says T-2 and its TASK says T-1"):
        load_task("T-2", small.tasks)


# Of this repository: no task without a solution, no solution without a task, no task untested.

IDS = task_ids()


def test_every_solution_belongs_to_a_task_and_every_task_has_one():
    marked = {}
    names, _ = tracked_files(ROOT)
    for name in names:
        if name.endswith(".py") and not name.startswith("tests/grade/"):
            for region in find_regions((ROOT / name).read_text(encoding="utf-8"), name, IDS):
                marked.setdefault(region.task, set()).add(name)
    assert set(marked) == set(IDS)
    for task_id in IDS:  # a later script may carry the solution along, marked too
        assert load_task(task_id).task.file in marked[task_id]


@pytest.mark.parametrize("task_id", IDS)
def test_every_task_has_planted_mistakes(task_id):
    found = load_task(task_id)
    path = found.path.parent / "mistakes" / found.path.name
    mistakes = load_module(path, f"mistakes_{path.stem}").MISTAKES
    assert mistakes
    assert len({mistake.name for mistake in mistakes}) == len(mistakes)
    assert all(mistake.says for mistake in mistakes)


def test_every_file_of_mistakes_belongs_to_a_task():
    assert task_ids(ROOT / "tasks" / "mistakes") == IDS
