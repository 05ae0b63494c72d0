"""The page of tasks, the lessons, the plans of TEACHING.md and the tasks say the same."""

import re
from dataclasses import replace
from html import escape

import nbformat
import pytest

from helpers.grade import page
from helpers.grade.marks import replace_regions
from helpers.grade.page import named
from helpers.grade.task import ROOT, Task, TaskError, all_tasks, load_task, load_whole, tasks_of

TASKS = all_tasks()
IDS = sorted(task.id for task in TASKS)
LISTED = {lesson.number for lesson in page.LESSONS}
OTHER_LABS = (ROOT / "docs" / "other_labs.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| ([^|]*[^-|]) \| ([^|]*) \| ([^|]*) \|$", OTHER_LABS, re.MULTILINE)
ROWS = [(asked, ids.split(", "), ready) for asked, ids, ready in ROWS if asked != "problem"]


def test_the_pages_are_what_the_tasks_say(capsys, tmp_path):
    assert page.main(["--check"]) == 0, capsys.readouterr().err
    (tmp_path / "TEACHING.md").write_text(f"before\n{page.BEGIN}old\n{page.END}after\n")
    (tmp_path / "README.md").write_text(f"{page.BEGIN}{page.END}")
    (tmp_path / page.WELCOME).parent.mkdir(parents=True)
    (tmp_path / page.WELCOME).write_text(f"# {page.BEGIN}# old\n# {page.END}")
    assert page.main(["--check"], tmp_path) == 1
    assert "README.md is not what tasks and syllabus say: make tasks" in capsys.readouterr().err
    assert page.main([], tmp_path) == page.main(["--check"], tmp_path) == 0
    assert (tmp_path / page.PAGE).read_text(encoding="utf-8") == page.page()
    text = (tmp_path / "TEACHING.md").read_text()
    assert text.startswith("before\n") and "old" not in text
    assert "# | 03 | [Averaging gradients](03_" in (tmp_path / page.WELCOME).read_text()
    (tmp_path / "TEACHING.md").write_text("no marks")
    with pytest.raises(ValueError, match="TEACHING.md: the lines .* are missing"):
        page.written(page.TEACHING, [], tmp_path)


def test_every_task_stands_on_the_page_once_in_the_order_of_the_lessons():
    text = page.page()
    heads = re.findall(r"^\| \*\*(\S+)\*\*", text, re.MULTILINE)
    assert heads == [task.id for task in TASKS if task.number in LISTED]
    assert [text.count(f"Hint 2 for {task_id}<") for task_id in heads] == [1] * len(heads)
    assert not [task.id for task in TASKS if escape(task.hints[2], quote=False)[:40] in text]
    for teaching in (text, "\n".join(page.teaching())):
        for first, second in (("RC-2", "RC-1"), ("PZ-8", "PZ-P0"), ("LA-3", "CK-1")):
            assert re.search(rf"{first}\b.*\b{second}\b", teaching, re.DOTALL)


def test_points_follow_minutes_and_a_task_is_of_a_kind():
    of = {m: replace(TASKS[0], minutes=m).points for m in (1, 10, 15, 25, 45, 180)}
    assert of == {1: 5, 10: 5, 15: 10, 25: 15, 45: 25, 180: 90}
    with pytest.raises(TaskError, match="kind 'hard' is none of practice, evidence, prize"):
        replace(TASKS[0], kind="hard")
    scored = {t.id for t in TASKS if hasattr(load_whole(load_task(t.id)), "passed")}
    contest = {task_id for task_id in IDS if task_id.startswith("PZ-P")}  # an MFU is their score
    assert scored | contest == {task.id for task in TASKS if task.kind == "prize"}


def test_labs_of_other_courses_name_what_exists():
    named = {task_id for _, ids, _ in ROWS for task_id in ids}
    lessons = {f"lesson {path.name[:2]}" for path in (ROOT / "notebooks" / "source").glob("*.py")}
    lessons |= {f"`{task.page}`" for task in TASKS if task.page}
    assert named <= {*IDS, *lessons} and {*tasks_of(["PZ", "GP", "PF", "LA"])} <= named
    paths = [p for _, _, ready in ROWS for p in re.findall(r"`([^`]*/[^`]*)`", ready)]
    assert len(paths) > 10 and [path for path in paths if not (ROOT / path).exists()] == []
    for asked, ids, ready in ROWS:  # without a task of its own, a row says what is given in place
        assert ready or not all(name.startswith("lesson") for name in ids), asked


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("gpt2/data_parallel/dataset.py", ["def partition_dataset", "class DataPartitioner"]),
        ("gpt2/project/run_data_parallel.py", ["def setup", "start_processes("]),
        ("DP/ddp/inputs.py", ["h5py", "safetensors", "memmap"]),
        ("DP/ddp/profile_flags.py", ["--compile", "-shape", "--dtype"]),
        ("TP/mpi-test.py", ["allreduce", "allgather", "reduce_scatter", "split"]),
    ],
)
def test_what_is_given_ready_is_there_and_is_no_solution(path, words):
    text = (ROOT / path).read_text(encoding="utf-8")
    kept = replace_regions(text, lambda region: "pass", path)
    assert [word for word in words if word not in kept] == []


def test_a_lesson_asks_for_each_of_its_tasks():
    """In a text that names it, and in a cell that checks it; no other lesson does. Between the two
    stands what its file says. Or it has another page, which says how long it takes."""
    lessons = {
        path.name[:2]: nbformat.read(path, as_version=4).cells
        for path in (ROOT / "notebooks").glob("[0-9][0-9]_*.ipynb")
    }
    assert set(LISTED) >= {task.number for task in TASKS} != set()
    for task in TASKS:
        if task.page:
            assert f"| {task.id} | {task.minutes} |" in (ROOT / task.page).read_text("utf-8")
            continue
        ((number, place),) = (
            (number, place)
            for number, cells in lessons.items()
            for place, cell in enumerate(cells)
            if cell.source.startswith(f'check("{task.id}")')
        )
        assert (number, lessons[number][place - 1].source) == (task.number, page.card(task))
        above = "\n".join(c.source for c in lessons[number][: place - 1])
        assert f"### Your turn: {task.id} · {task.minutes} minutes" in above


def rows_of(plan: str) -> list[list[str]]:
    """The cells of the table in TEACHING.md after the line that begins with **plan**."""
    text = (ROOT / page.TEACHING).read_text(encoding="utf-8")
    lines = text.partition(f"**{plan}**")[2].splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("|---"))
    rows = lines[start + 1 : lines.index("", start)]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


def test_the_plan_of_a_term_has_every_lesson_and_every_task_once():
    rows = rows_of("A term")
    lessons = re.findall(r"\b\d\d\b", " ".join(row[1] for row in rows))
    ids = [task.id for row in rows for task in named(row[2])]
    assert sorted(lessons) == sorted(LISTED)
    assert sorted(ids) == IDS
    assert [int(row[0]) for row in rows] == list(range(1, 13))
    assert max(int(row[0]) for row in rows if "PZ" in row[2]) < 11  # not only in the last weeks


def minutes_of(tasks: list[Task]) -> int:
    return sum(task.minutes for task in tasks)


def times_of(lesson: str) -> list[int]:
    """The minutes of reading, of tasks, and of those at home, as the lesson's second line says."""
    (path,) = (ROOT / "notebooks" / "source").glob(f"{lesson}_*.py")
    line = re.search(
        r"Reading (\d+) minutes? · tasks (\d+)(?: \(homework (\d+)\))? ·", path.read_text("utf-8")
    )
    return [int(number or 0) for number in line.groups()]


def test_the_minutes_of_a_term_are_those_of_its_tasks():
    homework = [row[2].partition("By choice")[0] for row in rows_of("A term")]
    minutes = [minutes_of(named(text)) for text in homework]
    assert [int(row[3]) for row in rows_of("A term")] == minutes
    assert round(sum(minutes) / len(minutes) / 60) == 2 and max(minutes) <= 4 * 60
    contest = minutes_of(task for task in TASKS if task.id.startswith("PZ-P"))
    assert round(contest / 60) == 8  # "about eight hours"
    evidence = [task for row in rows_of("A term") for task in named(row[4])]
    assert sorted(t.id for t in evidence) == sorted(t.id for t in TASKS if t.kind == "evidence")
    assert sum(int(row[0]) for row in rows_of("What counts.")) == 100


def test_the_plans_of_a_lesson_and_of_a_day_fill_their_time():
    for plan, minutes in (("Ninety minutes", 90), ("A day", 360)):
        assert sum(int(row[0]) for row in rows_of(plan)) == minutes
        for row in rows_of(plan):  # no task that can't be done in its time
            assert minutes_of(named(row[1].partition("(")[0])) <= int(row[0])
    assert any(named(row[1].partition("(")[0]) for row in rows_of("A day"))
    for minutes, what in rows_of("A day"):
        lessons, short = re.findall(r"\b\d\d\b", what), "in twenty minutes" in what
        if "by choice" in what:
            for lesson in lessons:
                first = next(task for task in TASKS if task.number == lesson)
                assert 20 + first.minutes <= int(minutes), lesson
        else:
            reading = sum(20 if short else times_of(lesson)[0] for lesson in lessons)
            assert reading + minutes_of(named(what.partition("(")[0])) <= int(minutes), what


def test_the_manual_names_the_lessons_that_have_homework():
    longer = [lesson for lesson in sorted(LISTED) if times_of(lesson)[2]]
    text = (ROOT / page.TEACHING).read_text(encoding="utf-8")
    assert f"Lessons {' and '.join(longer)} have tasks below *Homework*" in text


def test_a_session_gives_each_of_its_tasks_the_minutes_it_needs():
    text = (ROOT / "docs" / "teaching" / "sessions.md").read_text(encoding="utf-8")
    rows = [(int(at), what) for at, what in re.findall(r"^\| (\d+) \| (.*) \|$", text, re.M)]
    given = {
        task.id: after - at
        for (at, what), (after, _) in zip(rows, rows[1:], strict=False)
        for task in named(re.split(r"below|;", what)[0])
    }
    assert given.keys() == {"RC-2", "PP-2", "DP-5"}
    for task in TASKS:
        assert given.get(task.id, task.minutes) >= task.minutes, task.id


def test_no_oral_question_is_of_a_task_that_is_not_there_and_no_task_has_two():
    text = (ROOT / "docs" / "teaching" / "oral.md").read_text(encoding="utf-8")
    asked = [task_id for head in re.findall(r"^\*\*([^*]+)\*\*", text, re.M)
             for task_id in re.findall(r"[A-Z]+(?:-[A-Z]+)*-[A-Z]?\d+", head)]  # fmt: skip
    assert len(asked) == len(set(asked)) > 50 and set(asked) <= set(IDS)


def test_every_misconception_names_a_prediction_or_a_task():
    text = (ROOT / "docs" / "teaching" / "misconceptions.md").read_text(encoding="utf-8")
    sources = "".join(p.read_text("utf-8") for p in (ROOT / "notebooks/source").glob("*.py"))
    named = set(re.findall(r"\b[a-z][a-z0-9_]+-\d+\b", text))
    assert len(named) > 30
    assert not [
        each for each in named if f'predict("{each}"' not in sources.replace("(\n    ", "(")
    ]
