import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.grade.folder import write_folder
from helpers.grade.labs import all_tasks
from helpers.grade.marks import find_regions
from helpers.grade.student import LeakError, main, student_edition
from helpers.grade.task import ROOT, load_task, task_ids

SOLUTION = "added_by_hand = number + 1\nreturn added_by_hand"


def text_of(edition, name):
    return edition.files[name].data.decode()


def test_solution_becomes_a_stub(small):
    edition = student_edition(small.root)
    assert text_of(edition, "lab/work.py") == (
        '\n"""Work."""\n\n\ndef add_one(number):\n    """The number plus one."""\n'
        "    raise NotImplementedError(\n"
        '        "Task T-1: add one. "\n'
        '        "Write add_one() in lab/work.py."\n'
        "    )\n"
    )
    assert edition.stubs == ["T-1 in lab/work.py"]


def test_all_else_stays_to_the_byte(small):
    small.write("data.bin", "\r\n\0é")
    small.write("notes.md", "Between # BEGIN SOLUTION and # END SOLUTION stand solutions.\n")
    edition = student_edition(small.root)
    for name in ("data.bin", "notes.md", "tasks/t_1.py"):
        assert edition.files[name].data == (small.root / name).read_bytes()


def test_what_gives_solutions_away_is_left_out(small):
    small.write("tasks/mistakes/t_1.py", SOLUTION)
    small.write("tests/grade/test_t_1.py", SOLUTION)
    small.write("tests/test_other.py", "kept = 1\n")
    edition = student_edition(small.root)
    assert edition.left_out == ["tasks/mistakes/t_1.py", "tests/grade/test_t_1.py"]
    assert "tests/test_other.py" in edition.files


def notebook(*cells):
    return json.dumps(
        {
            "cells": [
                {
                    "cell_type": "code",
                    "execution_count": 1,
                    "metadata": {},
                    "outputs": [{"output_type": "display_data", "metadata": {}, "data": data}],
                    "source": source.splitlines(keepends=True),
                }
                for source, data in cells
            ],
            "metadata": {},
        },
        indent=1,
    ) + "\n"  # fmt: skip


def test_notebook_cells(small):
    diff = "".join(f"<ins>+    {line}</ins>\n" for line in SOLUTION.splitlines())
    small.write(
        "notebooks/01.ipynb",
        notebook(
            ("x = 1", {"text/plain": ["a picture"]}),
            (f"# BEGIN SOLUTION T-1\n{SOLUTION}\n# END SOLUTION", {"text/plain": ["done"]}),
            ("show_diff()", {"text/html": diff.splitlines(keepends=True)}),
        ),
    )
    edition = student_edition(small.root)
    first, second, third = json.loads(text_of(edition, "notebooks/01.ipynb"))["cells"]
    assert first["outputs"][0]["data"] == {"text/plain": ["a picture"]}
    assert "".join(second["source"]) == load_task("T-1", small.tasks).task.stub()
    assert (second["outputs"], second["execution_count"]) == ([], None)
    assert third["source"] == ["show_diff()"]
    assert third["outputs"][0]["text"] == [
        "This shows the solution of T-1: do the task, then run this cell.\n"
    ]
    assert edition.hidden == ["notebooks/01.ipynb, cell 3 (T-1)"]


@pytest.mark.parametrize(
    "name", ["notes.md", "lab/other.py", "page.html", "notebooks/01.ipynb", "tests/test_work.py"]
)
def test_a_solution_outside_of_the_marks_stops_it(small, name, capsys):
    text = notebook((SOLUTION, {})) if name.endswith(".ipynb") else f"x\n\n{SOLUTION}\n"
    small.write(name, text)
    with pytest.raises(LeakError, match=f"^{name}: lines of the solution of T-1 stand here"):
        student_edition(small.root)
    assert main([], small.root) == 1
    assert capsys.readouterr().err.startswith(f"no student edition: {name}: lines of the solution")
    assert not (small.root / "build").exists()


def test_wrong_marks_stop_it(small, capsys):
    small.write("lab/other.py", "# BEGIN SOLUTION T-2\n# END SOLUTION\n")
    assert main([], small.root) == 1
    assert "lab/other.py:1: there is no task T-2: the tasks are T-1" in capsys.readouterr().err


def test_program_says_what_it_wrote(small, capsys):
    small.write("tests/grade/test_t_1.py", "")
    assert main([], small.root) == 0
    assert main([], small.root) == 0  # again, in the place of the first
    out = small.root / "build" / "student"
    said = capsys.readouterr().out.split("student edition: ")
    assert said[1] == said[2]
    assert said[1].splitlines() == [
        f"3 files in {out}",
        "  all files were taken, because there is no .git here",
        "  left out: tests/grade/ (1 file)",
        "  stub: T-1 in lab/work.py",
    ]
    assert main([], out) == 0
    assert "this is the student edition already" in capsys.readouterr().out


@pytest.mark.parametrize("out", [".", ".."])
def test_refuses_to_replace_the_repository(small, out, capsys):
    assert main(["--out", str(small.root / out)], small.root) == 1
    assert "contains the repository itself" in capsys.readouterr().err
    assert small.work.exists()


# The student edition of this repository.


@pytest.fixture(scope="module")
def edition():
    return student_edition()


@pytest.fixture(scope="module")
def folder(edition, tmp_path_factory):
    out = tmp_path_factory.mktemp("editions") / "student"
    write_folder(out, edition.files)
    return out


def solutions():
    """Each task's regions, straight from the file that the task names."""
    for task_id in task_ids():
        name = load_task(task_id).task.file
        text = (ROOT / name).read_text(encoding="utf-8")
        yield name, [r for r in find_regions(text) if r.task == task_id], text


def test_no_line_of_a_solution_is_left(folder):
    """Read as a student would: the lines one after the other, in whatever form a file has them."""
    everything = {
        path: "".join(path.read_bytes().decode(errors="replace").split())
        for path in folder.rglob("*")
        if path.is_file()
    }
    for _, regions, _ in solutions():
        for region in regions:
            lines = ["".join(line.split()) for line in region.body.splitlines() if line.strip()]
            for first, second, third in zip(lines, lines[1:], lines[2:], strict=False):
                for between in ("", "\\n", '\\n","', "+"):
                    piece = between.join((first, second, third))
                    assert [p for p, text in everything.items() if piece in text] == []
            assert "# BEGIN SOLUTION" not in (folder / load_task(region.task).task.file).read_text(
                encoding="utf-8"
            )


def test_the_editions_agree_outside_of_the_marks(edition):
    for name, _, text in solutions():
        expected, inside = [], False
        for line in text.splitlines():
            word, _, task_id = line.strip().partition(" SOLUTION")
            if word == "# BEGIN":
                inside = True
                stub = load_task(task_id.strip()).task.stub()
                indent = line[: -len(line.lstrip())]
                expected += [indent + stub_line for stub_line in stub.splitlines()]
            elif word == "# END":
                inside = False
            elif not inside:
                expected.append(line)
        assert text_of(edition, name).splitlines() == expected


def test_is_the_same_to_the_byte_each_time(edition):
    again = student_edition()
    assert again.files == edition.files


def test_grades_itself_and_every_task_is_not_done(folder):
    """As a student does, in the fresh folder, with the checks that lie there."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [sys.executable, "-m", "helpers.grade", "--json"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1, done.stderr
    verdicts = json.loads(done.stdout)
    assert [v["task"] for v in verdicts] == [task.id for task in all_tasks()]
    for verdict in verdicts:
        task = load_task(verdict["task"], Path(folder, "tasks")).task
        assert verdict["kind"] == "not done"
        assert verdict["reason"] == f"not done yet: {task.not_done}"
