"""A skipped task: below its decorator the reference takes its place."""

import ast
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from helpers.grade import student
from helpers.grade.marks import find_regions, replace_regions
from helpers.grade.task import ROOT, load_task, task_ids
from helpers.skipped import INSIDE, PACKED, definitions, marked_with_tasks, with_references

WORK = """
from helpers.trace import Event  # an import, as in every script

TASK = "Task T-1: "


def double(number):
    raise NotImplementedError(TASK + "double it")


class Base:
    def __init__(self, number):
        self.number = number


class Part(Base):
    def __init__(self, number):
        raise NotImplementedError(TASK + "a part")

    async def later(self):
        raise NotImplementedError(TASK + "later")


if __name__ == "__main__":
    import sys
    print(double(21), sys.argv[1:], __file__)
"""
REFERENCE = {
    "double": "def double(number, times=2):\n    return number * times",
    "Part.__init__": "def __init__(self, number):\n    super().__init__(double(number))",
    "Part.later": "async def later(self):\n    return self.number",
}


def test_each_task_has_a_reference_that_makes_its_file_whole_again():
    """As the student edition packs them, which test_student.py of the grader looks into."""
    ids = task_ids()
    tasks = {task: load_task(task).task for task in ids}
    texts = {task.file: (ROOT / task.file).read_text(encoding="utf-8") for task in tasks.values()}
    regions = {name: find_regions(text, name, ids) for name, text in texts.items()}
    references = student._references(texts, regions)
    assert sorted(references) == sorted(ids)
    files = {}
    for functions in references.values():
        for name, found in functions.items():
            files.setdefault(name, {}).update(found)
    for name, found in files.items():
        stubs = replace_regions(texts[name], lambda region: tasks[region.task].stub())
        assert stubs != texts[name]
        whole = ast.dump(ast.parse(texts[name]))
        assert ast.dump(ast.parse(with_references(stubs, found))) == whole


@pytest.fixture
def lab(tmp_path: Path) -> Path:
    """A copy of what a script needs, with one task as the student edition has it."""
    (tmp_path / "helpers").mkdir()
    for name in ("__init__.py", "skipped.py"):
        (tmp_path / "helpers" / name).write_bytes((ROOT / "helpers" / name).read_bytes())
    (tmp_path / "helpers" / "trace.py").write_text("Event = 1\n")
    (tmp_path / "tasks").mkdir()
    with zipfile.ZipFile(tmp_path / PACKED, "w") as archive:
        archive.writestr(INSIDE, json.dumps({"T-1": {"work/part.py": REFERENCE}}))
    (tmp_path / "work").mkdir()
    text = marked_with_tasks(WORK, dict.fromkeys(REFERENCE, "T-1"))
    (tmp_path / "work" / "part.py").write_text(text)
    return tmp_path


def run(lab: Path, *command: str, skip: str = "T-1") -> str:
    environment = os.environ | {"PYTHONPATH": str(lab), "LAB_SKIP": skip}
    done = subprocess.run(
        [sys.executable, *command],
        cwd=lab / "work",
        env=environment,
        capture_output=True,
        text=True,
    )
    return done.stdout + done.stderr


def test_each_function_has_its_decorator_and_nothing_else_has_changed(lab):
    text = (lab / "work" / "part.py").read_text()
    assert [line.strip() for line in text.splitlines() if "task(" in line] == 3 * ['@task("T-1")']
    assert text.count("from helpers.skipped import task\n") == 1
    rest = [line for line in text.splitlines() if "@task(" not in line and "skipped" not in line]
    assert rest == WORK.splitlines()


def test_a_docstring_and_the_future_stay_in_front():
    text = '"""What."""\n\nfrom __future__ import annotations\n\n\n@once\ndef f():\n    pass\n'
    lines = [line for line in marked_with_tasks(text, {"f": "T-1"}).splitlines() if line]
    assert lines == [
        '"""What."""',
        "from __future__ import annotations",
        "from helpers.skipped import task",
        "@once",
        '@task("T-1")',
        "def f():",
        "    pass",
    ]


def test_a_script_runs_with_the_reference(lab):
    assert run(lab, "part.py", "a", "-b").strip() == f"42 ['a', '-b'] {lab / 'work/part.py'}"
    assert "Task T-1: double it" in run(lab, "part.py", skip="")
    assert "Task T-1: double it" in run(lab, "part.py", skip="T-2")


def test_what_was_imported_has_the_reference_as_soon_as_it_is_skipped(lab):
    code = """
import asyncio, inspect, helpers.skipped as skipped
from part import double, Part
kept = Part
assert inspect.iscoroutinefunction(Part.later)
try:
    double(4)
except NotImplementedError as error:
    print(error)
skipped.skip_from_now("T-1")
print(double(4), double(4, 3), kept(5).number, asyncio.run(kept(6).later()))
"""
    assert run(lab, "-c", code, skip="").splitlines() == ["Task T-1: double it", "8 12 10 12"]


def test_what_a_lesson_starts_has_the_reference(lab):
    code = """
import subprocess, sys, helpers.skipped as skipped
skipped.skip_from_now("T-1")
command = [sys.executable, "-c", "import part; print(part.double(4), part.Part(5).number)"]
sys.exit(subprocess.run(command).returncode)
"""
    assert run(lab, "-c", code, skip="").strip() == "8 10"


def test_own_work_that_is_half_done_is_replaced_and_nothing_else(lab):
    path = lab / "work" / "part.py"
    path.write_text(
        path.read_text().replace(
            'raise NotImplementedError(TASK + "double it")', "return number / 0"
        )
    )
    assert run(lab, "part.py").startswith("42 ")
    assert "ZeroDivisionError" in run(lab, "part.py", skip="")


def test_definitions_have_the_names_of_tasks():
    names = [name for name, _ in definitions(ast.parse(WORK))]
    assert names == ["double", "Base", "Base.__init__", "Part", "Part.__init__", "Part.later"]
