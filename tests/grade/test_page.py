"""The page of tasks, the lessons and the tasks' own facts say the same."""

import re

import nbformat
import pytest

from helpers.grade import page
from helpers.grade.card import card
from helpers.grade.labs import all_tasks, tasks_of
from helpers.grade.marks import replace_regions
from helpers.grade.task import ROOT, load_task, task_ids

TASKS = all_tasks()
LISTED = {lesson.number for lesson in page.LESSONS}


def test_the_pages_are_what_the_tasks_say(capsys):
    assert page.main(["--check"]) == 0, capsys.readouterr().err


def test_a_stale_page_is_found_and_written(tmp_path, capsys):
    (tmp_path / "TEACHING.md").write_text(f"before\n{page.BEGIN}old\n{page.END}after\n")
    assert page.main(["--check"], tmp_path) == 1
    assert "docs/tasks.md is not what the tasks say: make tasks" in capsys.readouterr().err
    assert page.main([], tmp_path) == 0
    assert page.main(["--check"], tmp_path) == 0
    assert (tmp_path / "TEACHING.md").read_text().startswith("before\n")
    assert "old" not in (tmp_path / "TEACHING.md").read_text()
    with pytest.raises(ValueError, match="TEACHING.md: the lines .* are missing"):
        page.teaching("no marks")


def test_every_task_of_a_listed_lesson_stands_on_the_page_once():
    text = page.page()
    for task in TASKS:
        count = 1 if task.notebook in LISTED else 0
        assert text.count(f"| **{task.id}** |") == count
        assert text.count(f"Hint 3 for {task.id}<") == count


ROWS = [row for _, problems in page.PROBLEMS for row in problems]


def test_labs_of_other_courses_name_what_exists():
    named = {task_id for _, ids, _ in ROWS for task_id in ids}
    lessons = {f"lesson {path.name[:2]}" for path in (ROOT / "notebooks" / "source").glob("*.py")}
    assert named <= {*task_ids(), *lessons}
    paths = [p for _, _, ready in ROWS for p in re.findall(r"`([^`]*/[^`]*)`", ready)]
    assert len(paths) > 10
    assert [path for path in paths if not (ROOT / path).exists()] == []
    text = page.page()
    assert [
        ask for ask, ids, ready in ROWS if f"| {ask} | {', '.join(ids)} | {ready}" not in text
    ] == []


@pytest.mark.parametrize("lab", ["PZ", "GP", "PF", "LA"])
def test_what_came_with_other_courses_stands_in_their_list(lab):
    """Each task of these labs; and a row without a task of its own says what is given in place."""
    named = {task_id for _, ids, _ in ROWS for task_id in ids}
    assert set(tasks_of([lab])) <= named
    for asked, ids, ready in ROWS:
        assert ready or not all(name.startswith("lesson") for name in ids), asked


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("gpt2/data_parallel/dataset.py", ["def partition_dataset", "class DataPartitioner"]),
        ("gpt2/project/run_data_parallel.py", ["def setup"]),
        ("gpt2/project/processes.py", ["Process("]),
        ("DP/ddp/inputs.py", ["h5py", "safetensors", "memmap"]),
        ("DP/ddp/profile_flags.py", ["--compile", "-shape", "--dtype"]),
        ("TP/mpi-test.py", ["allreduce", "allgather", "reduce_scatter", "split"]),
        ("notebooks/source/13_ddp.py", ["A model of a trillion parameters"]),
    ],
)
def test_what_is_given_ready_is_there_and_is_no_solution(path, words):
    text = (ROOT / path).read_text(encoding="utf-8")
    kept = replace_regions(text, lambda region: "pass", path)
    assert [word for word in words if word not in kept] == []


def test_tasks_stand_in_the_order_of_their_lesson():
    for text in (page.page(), page.teaching(f"{page.BEGIN}{page.END}")):
        for first, second in (("RC-2", "RC-1"), ("PZ-8", "PZ-P0"), ("LA-3", "CK-1")):
            assert re.search(rf"{first}\b.*\b{second}\b", text, re.DOTALL)
    heads = re.findall(r"^\| \*\*(\S+)\*\*", page.page(), re.MULTILINE)
    assert heads == [task.id for task in TASKS if task.notebook in LISTED]
    assert heads.index("RC-2") < heads.index("RC-1")


@pytest.mark.parametrize("task_id", [t.id for t in TASKS if t.notebook in LISTED])
def test_its_lesson_asks_for_the_task(task_id):
    """In a text that names it, and in a cell that checks it; no other does. Between the two stands
    what its file says."""
    task = load_task(task_id).task
    found = {
        path.name[:2]: nbformat.read(path, as_version=4).cells
        for path in (ROOT / "notebooks").glob("[0-9][0-9]_*.ipynb")
    }
    checks = [
        (number, place)
        for number, cells in found.items()
        for place, cell in enumerate(cells)
        if cell.source.startswith(f'check("{task_id}")')
    ]
    assert [number for number, _ in checks] == [task.notebook]
    cells, place = found[task.notebook], checks[0][1]
    assert cells[place - 1].source == card(task)
    lab = task_id.rstrip("0123456789")
    by_hand = " ".join(cell.source for cell in cells[: place - 1] if cell.cell_type == "markdown")
    assert re.search(rf"Tasks? .*\b{task_id}\b|{lab}\d to {lab}\d", by_hand)


TEACHING = (ROOT / page.TEACHING).read_text(encoding="utf-8")


def rows_of(plan: str) -> list[list[str]]:
    """The cells of the table after the line that begins with **plan**."""
    lines = TEACHING.partition(f"**{plan}**")[2].splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("|---"))
    rows = lines[start + 1 : lines.index("", start)]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


def test_the_plan_of_a_term_has_every_lesson_and_every_task_once():
    rows = rows_of("A term")
    lessons = re.findall(r"\b\d\d\b", " ".join(row[1] for row in rows))
    assert sorted(lessons) == sorted(LISTED)
    text = " ".join(row[2] for row in rows)
    for lab, first, last in re.findall(r"([A-Z]+-P?)(\d) to [A-Z]+-P?(\d)", text):
        text += "".join(f" {lab}{number}" for number in range(int(first) + 1, int(last)))
    assert sorted(re.findall(r"\b[A-Z]+(?:-[A-Z]+)?-P?\d\b", text)) == task_ids_sorted()
    weeks = [int(row[0]) for row in rows]
    assert weeks == list(range(1, 13))
    assert max(int(row[0]) for row in rows if "PZ" in row[2]) < 11  # not only in the last weeks


def task_ids_sorted() -> list[str]:
    return sorted(task.id for task in TASKS)


def test_the_plans_of_a_lesson_and_of_a_day_fill_their_time():
    for plan, minutes in (("Ninety minutes", 90), ("A day", 360)):
        assert sum(int(row[0]) for row in rows_of(plan)) == minutes
    for row in rows_of("A day"):  # no task that cannot be done in its time
        ids = re.findall(r"\b(?:RC|DP|PP)-\d\b", row[1].partition("(")[0])
        assert sum(task.minutes for task in TASKS if task.id in ids) <= int(row[0])
