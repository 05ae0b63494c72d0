"""A small repository with one task, and a grader that serves many bodies with one process."""

import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path

import pytest

from helpers.grade import sandbox
from helpers.grade.judge import drawn, judge
from helpers.grade.submission import Submission
from helpers.grade.task import Task, load_task

# Elsewhere there is no sandbox to test; what holds without one is in test_submission.py.
collect_ignore = [] if sys.platform == "linux" else ["test_hostile.py", "test_sandbox.py"]

TASK = """
from helpers.grade import Task

TASK = Task(
    title="add one",
    file="lab/work.py",
    function="add_one",
    lesson="one_device",
    minutes=1,
    hints=("first hint", "second <hint>", "third hint"),
)


def observe(module, case):
    return module.add_one(case)


def cases(seed):
    return [seed, seed + 7]


MUTANTS = {("number + 1", "number - 1"): "one was taken away, not added: look at the sign"}
"""
WORK = '''
"""Work."""


def add_one(number):
    """The number plus one."""
    # BEGIN SOLUTION T-1
    added_by_hand = number + 1
    return added_by_hand
    # END SOLUTION
'''


def contents(folder: Path) -> dict[str, bytes]:
    """What each file below a folder holds, by its name from there."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


@dataclass(frozen=True)
class Small:
    """A repository in a temporary folder."""

    root: Path

    @property
    def tasks(self) -> Path:
        return self.root / "tasks"

    @property
    def work(self) -> Path:
        return self.root / "lab" / "work.py"

    def changed(self, old: str, new: str) -> Path:
        """Change a piece of its task."""
        text = self.tasks.joinpath("t_1.py").read_text()
        assert text.count(old) == 1
        return self.write("tasks/t_1.py", text.replace(old, new))

    def write(self, name: str, text: str) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
        return path


def make(root: Path) -> Small:
    repository = Small(root)
    repository.write("tasks/t_1.py", TASK)
    repository.write("lab/work.py", WORK)
    repository.write("helpers/grade/__init__.py", "")
    return repository


@pytest.fixture(autouse=True)
def no_record(monkeypatch):
    """What tests grade is nobody's progress."""
    monkeypatch.setenv("LAB_PROGRESS", "off")


@pytest.fixture
def small(tmp_path) -> Small:
    return make(tmp_path / "repository")


@pytest.fixture
def task(small) -> Task:
    return load_task("T-1", small.tasks).task


class Grader:
    """Grades one body of `add_one` after the other, all as work of the same submission."""

    def __init__(self, folder: Path, confined: bool):
        self.small, self.checks = make(folder / "repository"), make(folder / "checks")
        self.submission = Submission(self.small.root, self.checks.tasks, confined)
        first = drawn(load_task("T-1", self.checks.tasks), 23)
        self.drawn = lambda found, seed: first

    def __call__(self, body: str, before: str = "", seconds: float = 30, **limits):
        code = textwrap.indent(textwrap.dedent(body).strip(), "    ")
        self.small.write("lab/work.py", f"import os, sys\n{before}\ndef add_one(number):\n{code}\n")
        return self.judge(seconds=seconds, **limits)

    def judge(self, changed: dict[str, str] | None = None, **limits):
        """The verdict on its work; changed: pieces of the task, {old: new}, for this check."""
        for old, new in (changed or {}).items():
            self.checks.changed(old, new)
        once = drawn if changed or "seed" in limits else self.drawn
        found = load_task("T-1", self.checks.tasks)
        try:
            return judge(found, self.submission, drawn=once, **limits)
        finally:
            self.checks.write("tasks/t_1.py", TASK)


@pytest.fixture(scope="session")
def free(tmp_path_factory):
    """Without the sandbox, as on a system that has none."""
    grader = Grader(tmp_path_factory.mktemp("free"), confined=False)
    yield grader
    grader.submission.close()


@pytest.fixture(scope="session")
def confined(tmp_path_factory):
    if why := sandbox.why_not():
        pytest.fail(f"no hostile work can be tried without a sandbox: {why}", pytrace=False)
    grader = Grader(tmp_path_factory.mktemp("confined"), confined=True)
    yield grader
    grader.submission.close()
