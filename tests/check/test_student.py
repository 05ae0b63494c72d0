"""A student's copy has a stub for each solution, no line of one, and overwrites nothing."""

import ast
import html
import json
import os
import re
import zipfile

import pytest

from helpers.check import student
from helpers.check.marks import regions
from helpers.check.student import LABS, PACKED, ROOT, main, write
from helpers.check.task import load_task, task_ids

MOST = 4  # lines in a row that two pieces of code may not share


def letters(text: str) -> str:
    return re.sub(r"\W+", "", text)


def pieces(name: str, code: str) -> dict[str, str]:
    """About half of the lines of a solution in a row, without anything but letters and digits."""
    lines = [letters(line) for line in code.splitlines() if not line.strip().startswith("#")]
    lines = [line for line in lines if line]
    length = min(MOST, max(2, (len(lines) + 1) // 2), len(lines))
    rows = ("".join(lines[n : n + length]) for n in range(len(lines) - length + 1))
    return {row: name for row in rows if len(row) >= 16}


def hidden() -> dict[str, str]:
    """What nobody is to read by accident: solutions, and what tasks and answers compute."""
    found = {}
    for name in (name for name in student.files() if name.endswith(".py")):
        text = (ROOT / name).read_text("utf-8")
        if name.startswith(tuple(f"{lab}/" for lab in LABS)):
            for region in regions(text):
                found |= pieces(region["task"], region["body"])
        elif name.startswith("tasks/"):
            for node in ast.parse(text).body:
                if isinstance(node, ast.FunctionDef) and node.name not in ("cases", "name"):
                    found |= pieces(name, ast.get_source_segment(text, node))
    return found


def test_no_line_of_a_solution_stands_anywhere(written):
    found, leaks = hidden(), []
    for path in (path for path in written.rglob("*") if path.is_file() and path.name != PACKED):
        text = path.read_bytes().decode(errors="replace")
        lines = text.replace("\\n", "\n").replace("\\t", "\t")  # as JSON writes ends of lines
        forms = {letters(form) for form in (text, lines, html.unescape(lines))}
        leaks += [(path, found[p]) for p in found if any(p in form for form in forms)]
    assert len(found) > 500 and not leaks
    tasks = [load_task(task_id) for task_id in task_ids()]
    for task in tasks:
        assert f"Task {task.id}: " in (written / task.file).read_text("utf-8")
    with zipfile.ZipFile(written / PACKED) as packed:
        assert {task.file for task in tasks} <= set(packed.namelist())


def test_it_holds_what_a_student_needs_and_nothing_else(written):
    top = {path.name for path in written.iterdir()}
    assert {"notebooks", "helpers", "simplellm", "README.md", "Makefile", *LABS} <= top
    assert not top & {"tests", "site", "tasks", "TEACHING.md", "README.student.md", "docs.md"}
    assert not list(written.glob("notebooks/source"))
    for path in written.glob("notebooks/*.ipynb"):
        cells = json.loads(path.read_text("utf-8"))["cells"]
        assert not any(cell.get("outputs") or cell.get("execution_count") for cell in cells)
    links = re.findall(r"\]\(([^)#:]+)", (written / "README.md").read_text("utf-8"))
    assert links and all((written / link).exists() for link in links)
    assert len(list(written.glob("docs/*.md"))) == 3
    assert os.access(written / "DP/gradient_aggr/run.sh", os.X_OK)


def test_what_is_there_stays_and_three_lines_say_what_to_do(tmp_path, monkeypatch, capsys):
    out = tmp_path / "my-lab"
    monkeypatch.setattr(student, "fill", lambda folder: folder.mkdir())
    assert main([str(out)]) == 0
    first = capsys.readouterr().out.splitlines()
    assert len(first) == 3 and str(out) in first[0] and "make lab" in first[1]
    (out / "work.py").write_text("mine")
    assert main([str(out)]) == 0 and (out / "work.py").read_text() == "mine"
    assert "is there already, and stays" in capsys.readouterr().out
    monkeypatch.setattr(student, "fill", lambda folder: [folder.mkdir(), 1 / 0])
    with pytest.raises(ZeroDivisionError):
        write(tmp_path / "other")
    assert [path.name for path in tmp_path.iterdir()] == ["my-lab"]  # whole, or not at all


def test_without_git_nothing_that_was_made_comes_along(tmp_path, monkeypatch):
    for name in ("DP/a.py", "DP/__pycache__/a.pyc", ".venv/x.py", "build/b.py", ".gitignore"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    monkeypatch.setattr(student, "ROOT", tmp_path)
    assert student.files() == [".gitignore", "DP/a.py"]


@pytest.mark.slow
def test_a_copy_makes_no_copy_and_its_commands_work(copy):
    assert "This is a student's copy already" in copy.run("-m", "helpers.check.student")
    assert "| experts |" in copy.run("-m", "helpers.cluster.validate"), "lesson 20 needs it"
    text = copy.run("-m", "helpers.check", "DP-1", "--seed", "3")
    assert "DP-1  TO DO" in text and "0 of 1 passed, 0 of 10 points" in text
    assert "next: lesson 01, task TR-1" in copy.run("-m", "helpers.check", "--progress")
