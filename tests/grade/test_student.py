"""The student edition: every solution a stub, no line of a solution or answer anywhere, and checks
that work in it."""

import json
import os
import re
import subprocess
import sys
import zipfile
from functools import cache
from io import BytesIO

import pytest
import yaml

from helpers.draw.code import code_html
from helpers.grade.folder import write_folder
from helpers.grade.leaks import leaked, pieces_of
from helpers.grade.look import look_at
from helpers.grade.marks import MarkError, find_regions, replace_regions
from helpers.grade.student import LeakError, main, student_edition
from helpers.grade.task import ROOT, WorkFailed, load_task, task_ids

from .conftest import TASK

SOLUTION = "added_by_hand = number + 1\nreturn added_by_hand"
TRUE = "def long_way(case):\n    first = case + 1\n    return first + case - case\n"


def text_of(edition, name):
    return edition.files[name].data.decode()


def test_solutions_become_stubs_whole_tasks_are_packed_and_all_else_stays(small, task):
    small.write("data.bin", "\r\n\0é")
    small.write("notes.md", "Between # BEGIN SOLUTION and # END SOLUTION stand solutions.\n")
    for name in ("tests/grade/test_t_1.py", "tests/tasks/programs/t.py"):
        small.write(name, SOLUTION)
    edition = student_edition(small.root)
    stub = "".join(f"    {line}\n" for line in task.stub().splitlines())
    head = '\n"""Work."""\n\nfrom helpers.skipped import task\n\n\n@task("T-1")\n'
    head += 'def add_one(number):\n    """The number plus one."""\n'
    assert text_of(edition, "lab/work.py") == head + stub
    assert edition.stubs == ["T-1 in lab/work.py"]
    assert edition.left_out == ["tests/grade/test_t_1.py", "tests/tasks/programs/t.py"]
    same = ["data.bin", "helpers/grade/__init__.py", "notes.md"]
    changed = ["lab/work.py", "tasks/t_1.py", "tasks/reference.zip", "tasks/whole.zip"]
    assert sorted(edition.files) == sorted([*same, *changed])
    assert all(edition.files[name].data == (small.root / name).read_bytes() for name in same)
    with zipfile.ZipFile(BytesIO(edition.files["tasks/whole.zip"].data)) as archive:
        assert archive.read("t_1.py") == (small.tasks / "t_1.py").read_bytes()
    assert "MUTANTS" not in text_of(edition, "tasks/t_1.py")
    (small.tasks / "t_1.py").touch()
    assert student_edition(small.root).files == edition.files


def notebook(source, data):
    output = {"output_type": "display_data", "metadata": {}, "data": data}
    cell = {"cell_type": "code", "execution_count": 1, "metadata": {}, "outputs": [output]}
    cell["source"] = source.splitlines(keepends=True)
    return json.dumps({"cells": [cell], "metadata": {}}, indent=1) + "\n"


def test_a_notebook_loses_its_outputs_and_may_hold_no_solution(small):
    marked = f"# BEGIN SOLUTION T-1\n{SOLUTION}\n# END SOLUTION"
    small.write("notebooks/01.ipynb", notebook("x = 1", {"text/plain": ["T-1  PASS"]}))
    (cell,) = json.loads(text_of(student_edition(small.root), "notebooks/01.ipynb"))["cells"]
    assert (cell["source"], cell["outputs"], cell["execution_count"]) == (["x = 1"], [], None)
    small.write("notebooks/01.ipynb", notebook(marked, {}))
    with pytest.raises(MarkError, match="01.ipynb: a solution stands in a cell"):
        student_edition(small.root)
    small.write("notebooks/01.ipynb", "# a script")
    with pytest.raises(MarkError, match="01.ipynb: this is not a Jupyter notebook"):
        student_edition(small.root)


def test_a_teachers_files_stay_and_a_students_readme_comes(small, task):
    for name in ("README.md", "README.student.md", "TEACHING.md", "docs/exercises.md"):
        small.write(name, name)
    small.write(".github/workflows/tests.yml", "ours")
    small.write("tools/classroom.yml", "theirs")
    edition = student_edition(small.root, with_references=False)
    assert text_of(edition, "README.md") == "README.student.md"
    here = {"TEACHING.md", "README.student.md", "docs/exercises.md", "tasks/reference.zip"}
    assert not here & edition.files.keys()
    workflows = {name for name in edition.files if name.startswith((".github", "tools"))}
    assert workflows == {".github/workflows/tasks.yml"}
    assert text_of(edition, ".github/workflows/tasks.yml") == "theirs"


@pytest.mark.parametrize("planted", [SOLUTION, TRUE], ids=["solution", "hidden"])
@pytest.mark.parametrize("name", ["notes.md", "lab/other.py", "notebooks/01.ipynb", "tasks/_x.py"])
def test_a_planted_line_stops_it(small, name, planted, capsys):
    small.write("tasks/t_1.py", f"{TASK}\n\n{TRUE}")
    assert student_edition(small.root).files
    small.write(name, notebook(planted, {}) if name.endswith(".ipynb") else f"x\n\n{planted}\n")
    with pytest.raises(LeakError, match=f"^{name}: lines of the solution of T-1 stand here"):
        student_edition(small.root)
    assert main([], small.root) == 1
    assert capsys.readouterr().err.startswith(f"no student edition: {name}: lines of the solution")
    assert not (small.root / "build").exists()


@pytest.mark.parametrize("home", ["tasks/answers/one_device.py", "tasks/t_1.py"])
def test_nor_does_what_a_lesson_asks_or_a_task_of_one_file_expects_reach_a_student(small, home):
    small.write(home, TRUE if "answers" in home else f"{TASK}\n\n{TRUE}")
    edition = student_edition(small.root)
    assert "long_way" not in "".join(
        text_of(edition, name) for name in edition.files if ".py" in name
    )
    with zipfile.ZipFile(BytesIO(edition.files["tasks/whole.zip"].data)) as archive:
        assert TRUE in archive.read(home.removeprefix("tasks/")).decode()
    small.write("notes.md", f"x\n\n{TRUE}\n")
    with pytest.raises(LeakError, match="^notes.md: lines of the solution of .* stand here"):
        student_edition(small.root)


HTML = code_html(f"def add_one(number):\n    {SOLUTION}")


@pytest.mark.parametrize("code", [SOLUTION, HTML], ids=["text", "html"])
@pytest.mark.parametrize("place", ["cell", "cell's metadata", "metadata", "folded"])
def test_a_leak_is_found_wherever_a_notebook_can_hold_it(small, place, code):
    made = json.loads(notebook("x = 1", {"text/html": [code]}))
    (cell,) = made["cells"]
    cell["metadata"] = {"jupyter": {"source_hidden": True}}
    small.write("notebooks/01.ipynb", json.dumps(made))
    left = text_of(student_edition(small.root), "notebooks/01.ipynb")
    assert '"source_hidden": true' in left and "added_by_hand" not in left  # outputs are gone
    where = {"metadata": made["metadata"], "cell's metadata": cell["metadata"]}
    if place in where:
        where[place]["kept"] = {"beside": code}
    else:
        cell["source"] = code.splitlines(keepends=True)
        cell["metadata"] = cell["metadata"] if place == "folded" else {}
    small.write("notebooks/01.ipynb", json.dumps(made))
    with pytest.raises(LeakError, match="01.ipynb: lines of the solution of T-1 stand here"):
        student_edition(small.root)


def test_the_program(small, capsys):
    small.write("tests/grade/test_t_1.py", "")
    assert main([], small.root) == main([], small.root) == 0  # again, in the place of the first
    out = small.root / "build" / "student"
    said = capsys.readouterr().out.split("student edition: ")
    assert said[1] == said[2] and said[1].startswith(f"5 files in {out}\n")
    assert "left out: tests/grade/ (1 file)" in said[1] and "stub: T-1 in lab/work.py" in said[1]
    assert main([], out) == 0
    assert "this is the student edition already" in capsys.readouterr().out
    for place in (".", ".."):
        assert main(["--out", str(small.root / place)], small.root) == 1
        assert "contains the repository itself" in capsys.readouterr().err
    small.write("lab/other.py", "# BEGIN SOLUTION T-2\n# END SOLUTION\n")
    assert main([], small.root) == 1
    assert "lab/other.py:1: there is no task T-2: the tasks are T-1" in capsys.readouterr().err
    assert small.work.exists()


# --- the student edition of this repository ------------------------------------------------------


@pytest.fixture(scope="module")
def edition():
    return student_edition()


@pytest.fixture(scope="module")
def folder(edition, tmp_path_factory):
    out = tmp_path_factory.mktemp("editions") / "student"
    write_folder(out, edition.files)
    return out


def squeezed(text: str) -> str:
    return "".join(text.split())


@pytest.mark.slow
def test_no_line_of_a_solution_is_left(edition):
    """Read as a student would: the lines one after the other, in whatever form a file has them."""
    texts = [content.data.decode(errors="replace") for content in edition.files.values()]
    everything = re.sub(r"[A-Za-z0-9+/=]{400,}", "", "\n".join(texts))  # no pictures
    everything = squeezed(everything).encode()  # in bytes the search is six times as fast

    @cache
    def is_there(line):
        return line.encode() in everything

    for name in sorted({load_task(task_id).task.file for task_id in task_ids()}):
        assert "# BEGIN SOLUTION" not in text_of(edition, name)
        for region in find_regions((ROOT / name).read_text(encoding="utf-8")):
            lines = [squeezed(line) for line in region.body.splitlines() if line.strip()]
            for three in zip(lines, lines[1:], lines[2:], strict=False):
                if not is_there(max(three, key=len)):
                    continue
                for between in ("", "\\n", '\\n","', "+"):
                    left = between.join(three).encode() in everything  # too long for a message
                    assert not left, (region.task, three)
    gone = ("tasks/answers/", "tests/grade/", "tests/tasks/")
    assert not [name for name in edition.files if name.startswith(gone)]


@pytest.mark.long
def test_it_grades_itself_and_its_workflow_runs_what_is_there(folder):
    """As a student does, in the fresh folder, with the checks that lie there: first each task is to
    do, and DP-1 passes as soon as it's solved."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    workflow = yaml.safe_load((folder / ".github" / "workflows" / "tasks.yml").read_text("utf-8"))
    steps = workflow["jobs"]["check"]["steps"]
    lines = [step["run"] for step in steps if "run" in step]
    assert lines[0] == "python tools/install.py" and (folder / "tools" / "install.py").is_file()
    command, to = lines[1].split(" > ")
    assert to == steps[-1]["with"]["path"]
    assert (python := command.split()[0]) == ".venv/bin/python"

    def run(*arguments, **more):
        command, env = [sys.executable, *arguments], environment | more
        return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)

    def graded(tasks):
        """What the workflow's command says of these tasks."""
        arguments = command.removeprefix(python).replace("$TASKS", tasks).split()
        done = run(*arguments)
        assert done.stdout, done.stderr
        (one,) = json.loads(done.stdout)["submissions"]
        assert "task " in done.stderr, "the table stands beside the document"
        assert done.returncode == (0 if all(v["passed"] for v in one["verdicts"]) else 1)
        return one["verdicts"]

    def seen():
        """What a notebook shows of the check and the code of DP-1."""
        told = f"from helpers.lesson.code import code; told = code({name!r}).html"
        told += "\nfrom helpers.grade import check; print(told, check('DP-1')._repr_html_())"
        return run("-c", told, LAB_PROGRESS=str(folder.parent / "progress.json")).stdout

    name = load_task("DP-1").task.file
    text = (ROOT / name).read_text(encoding="utf-8")
    pieces = pieces_of(r for r in find_regions(text) if r.task == "DP-1")
    before = seen()
    assert "yours" in before and "TO DO" in before and leaked(before, pieces) is None
    kinds = {found["task"]: found["kind"] for found in graded("")}
    assert kinds == dict.fromkeys(kinds, "not done") and sorted(kinds) == sorted(task_ids())
    text = replace_regions(text, lambda region: region.body)
    (folder / name).write_text(text)
    (found,) = graded(workflow["env"]["TASKS"])
    assert found["task"] == "DP-1" and found["passed"], found
    first, then = seen(), seen()  # the record says from then on that it has passed
    assert first.count("One way to write it") == 1 and "Your lines in" in first
    assert then.count("One way to write it") == 2 and leaked(then, pieces) == "DP-1"


@pytest.mark.slow
def test_most_tasks_that_nobody_has_begun_take_no_process(folder):
    known = set()
    for task_id in task_ids():
        task = load_task(task_id).task
        try:
            look_at(folder / task.file, task)
        except WorkFailed as failed:
            known |= {task_id} if failed.kind == "not done" else set()
    assert len(known) > 0.85 * len(task_ids()), set(task_ids()) - known
