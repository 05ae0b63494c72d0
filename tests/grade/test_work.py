"""A submission's file, before it runs: what a task is, what the file says, and what is taken."""

import os
import subprocess
import sys
from contextlib import nullcontext
from dataclasses import replace

import psutil
import pytest

from helpers.grade import copy
from helpers.grade.copy import MOST_FILES, CopyError, copy_lab, copy_work
from helpers.grade.look import look_at
from helpers.grade.marks import find_regions
from helpers.grade.processes import end_below, memory_of, tree
from helpers.grade.task import (
    ROOT,
    Task,
    TaskError,
    WorkFailed,
    lab_of,
    load_task,
    task_ids,
    tasks_of,
)

from .conftest import contents

GOOD = {"id": "DP-1", "title": 'say "yes"', "file": "DP/a.py", "function": "f"}
GOOD |= {"lesson": "one_device", "kind": "practice", "minutes": 1, "hints": ("a", "b", "c")}


def test_a_stub_is_python_and_says_what_is_not_done():
    task = Task(**GOOD)
    with pytest.raises(NotImplementedError) as caught:
        exec(task.stub())
    assert str(caught.value) == task.not_done == 'Task DP-1: say "yes". Write f() in DP/a.py.'


@pytest.mark.parametrize(
    ("change", "words"),
    [({"id": "dp 1"}, "task id 'dp 1': write capital letters"), ({"minutes": 0}, "be above 0"),
     ({"hints": ("a", "b")}, "task DP-1: give 3 hints, not 2"), ({"file": "../a.py"}, "with '/'"),
     ({"file": "DP\\a.py"}, "from the repository's root")],
)  # fmt: skip
def test_a_wrong_task(change, words):
    with pytest.raises(TaskError, match=words):
        Task(**GOOD | change)


def test_files_and_labs_of_tasks(small):
    for name in ("dp_10.py", "dp_2.py", "pp_1f1b_1.py", "_shared.py", "notes.md"):
        small.write(f"some/{name}", "")
    assert task_ids(small.root / "some") == ["DP-2", "DP-10", "PP-1F1B-1"]
    path = small.write("tasks/t_2.py", "run = 1")
    for task_id, words in {"T-9": "the tasks are T-1, T-2", "T-2": "must define TASK"}.items():
        with pytest.raises(TaskError, match=words):
            load_task(task_id, small.tasks)
    (small.tasks / "t_1.py").rename(path)
    assert load_task("T-2", small.tasks).task.id == "T-2"  # the file's name says it
    assert [lab_of(task_id) for task_id in ("PP-2", "DP-PP-1", "PZ-P0")] == ["PP", "DP-PP", "PZ"]
    assert tasks_of(["pp-2", "PP-1"]) == ["PP-2", "PP-1"]
    assert sorted(tasks_of(["DP"])) == [t for t in task_ids() if lab_of(t) == "DP"]
    assert tasks_of(["03"]) == ["DP-1", "RC-1"]  # as the lesson asks for them
    with pytest.raises(TaskError, match="there is no task 'QQ': .* a lab .*PZ.* or the number"):
        tasks_of(["QQ"])


# --- what the file says --------------------------------------------------------------------------

STUB = 'raise NotImplementedError("Task T-1: add one. " "Write it.")'
ADD = "def add_one(number):\n    "


@pytest.mark.parametrize(
    "text",
    [
        "from other import add_one\n", "from other import *\n", "add_one = lambda number: number\n",
        "if True:\n    def add_one(number):\n        return 1\n",
        # A raise that may not be reached, or that is somebody else's: running it will tell.
        f"{ADD}return number + 1\n    {STUB}\n", f"{ADD}if number:\n        return 2\n    {STUB}\n",
        f"{ADD}raise NotImplementedError('later')\n", f"@done\n{ADD}{STUB}\n",
        f"{ADD}{STUB}\nadd_one = round\n", f"def other():\n    {STUB}\n{ADD}return 1\n",
        f"{ADD}try:\n        {STUB}\n    finally:\n        return 1\n",
    ],
)  # fmt: skip
def test_what_can_be_run(small, task, text):
    look_at(small.write("lab/work.py", text), task)


@pytest.mark.parametrize(
    ("text", "kind", "words"),
    [
        ("def add_one(:\n", "syntax", "lab/work.py, line 1: SyntaxError: invalid syntax"),
        ("if 1:\nx = 1\n", "syntax", "lab/work.py, line 2: IndentationError"),
        ("\0", "syntax", "lab/work.py"),
        ("import sys\nsys._getframe().f_back\n", "peek", "lab/work.py uses f_back, which reads"),
        ("from inspect import currentframe\n", "peek", "lab/work.py uses currentframe"),
        ("import gc\ngetattr(gc, 'get_objects')\n", "peek", "lab/work.py uses get_objects"),
        ("-" * 99_999, "syntax", "lab/work.py cannot be read as Python: "),
        (None, "no file", "there is no file lab/work.py"),
        ("folder", "no file", "lab/work.py"),
        ("def add_two():\n    pass\n", "no function", "lab/work.py has no function add_one"),
        (f"{ADD}{STUB}\n", "not done", "not done yet: Task T-1: add one. Write it."),
        (f'{ADD}"""Add."""\n    x = 1\n    {STUB}\n    return x\n', "not done", "not done yet"),
    ],
)  # fmt: skip
def test_what_cannot_be_run(small, task, text, kind, words):
    small.work.unlink()
    if text == "folder":
        small.work.mkdir()
    elif text is not None:
        small.write("lab/work.py", text)
    with pytest.raises(WorkFailed) as caught:
        look_at(small.work, task)
    assert caught.value.kind == kind and caught.value.sentence.startswith(words)
    assert not caught.value.sentence.endswith(" ")  # Python's own reason differs between versions


TASKS_OWN = "from helpers.skipped import task\n@task('T-1')\n"
IN_A_CLASS = f"class Adder:\n    @staticmethod\n    def one(n):\n        {STUB}\n"


@pytest.mark.parametrize(
    ("function", "text", "sure"),
    [
        ("add_one", f"{TASKS_OWN}{ADD}{STUB}\n", True),
        ("add_one", f"{TASKS_OWN}async {ADD}{STUB}\n", True),
        ("add_one", f"def task(name):\n    return print\n{TASKS_OWN}{ADD}{STUB}\n", False),
        ("add_one", f"import functools\n@functools.cache\n{ADD}{STUB}\n", False),
        ("add_one", f"{ADD}{STUB}\ndef add_one(n):\n    return n + 1\n", False),
        ("Adder.one", IN_A_CLASS, True),
        ("Adder.one", f"{IN_A_CLASS}Adder.one = abs\n", False),
        ("Adder.one", f"@print\n{IN_A_CLASS}", False),
        ("Adder.two", f"{IN_A_CLASS}    two = abs\n", False),
    ],
)
def test_what_nobody_has_begun_is_known_without_running_it(small, task, function, text, sure):
    task = replace(task, function=function)
    small.write("lab/work.py", text)
    with pytest.raises(WorkFailed, match="not done yet") if sure else nullcontext():
        look_at(small.work, task)


# --- what is taken, and what is handed in --------------------------------------------------------


def test_takes_the_file_and_the_python_beside_and_below_it(small, task, tmp_path, monkeypatch):
    kept = ["lab/beside.py", "lab/deep/er.py", "lab/sizes.json"]
    others = ["lab/big.bin", "other.py", "lab/__pycache__/work.py", "lab/.hidden/work.py"]
    for name in [*kept, *others]:
        small.write(name, "x")
    copy_work(small.root, task, tmp_path / "to")
    assert contents(tmp_path / "to").keys() == {*kept, "lab/work.py"}
    small.root.joinpath("lab/secret.py").symlink_to(ROOT / "demo.py")
    if hasattr(os, "mkfifo"):
        os.mkfifo(small.root / "lab" / "pipe.py")  # reading it would wait forever
    for number in range(MOST_FILES + 9):
        small.write(f"lab/many/f{number}.py", "")
    small.write("lab/a_large.py", "x" * 3000)
    monkeypatch.setattr("helpers.grade.copy.MOST_BYTES", 2000)
    copy_work(small.root, task, tmp_path / "flood")
    found = contents(tmp_path / "flood").keys()
    assert "lab/work.py" in found and len(found) <= MOST_FILES + 1
    assert not {"lab/secret.py", "lab/pipe.py", "lab/a_large.py"} & found


@pytest.mark.parametrize("where", ["lab", "lab/work.py"])
def test_follows_no_link(small, task, tmp_path, where):
    small.root.joinpath(where).rename(tmp_path / "real")
    small.root.joinpath(where).symlink_to(tmp_path / "real")
    with pytest.raises(CopyError, match=f"^{where} is a link, and links are not followed"):
        copy_work(small.root, task, tmp_path / "to")


def test_the_lab_around_a_task_is_shown_without_its_solutions(tmp_path):
    shown = {}
    for task_id in ("GP-4", "GP-7", "DP-1"):
        copy_lab(load_task(task_id).task, tmp_path / task_id)
        shown[task_id] = {
            region.task
            for name, data in contents(tmp_path / task_id).items()
            if name.endswith(".py")
            for region in find_regions((ROOT / name).read_text(encoding="utf-8"))
            if region.body.splitlines()[0] in data.decode()
        }
    # Those of other tasks aren't shown either, except where a check runs them.
    assert shown == {"GP-4": set(), "GP-7": set(copy.NEEDED["GP-7"]), "DP-1": set()}
    task = load_task("GP-4").task
    assert "Task GP-4: " in (tmp_path / "GP-4" / task.file).read_text(encoding="utf-8")
    assert not (tmp_path / "DP-1").exists()


def test_refuses_what_is_too_large(small, task, tmp_path, monkeypatch):
    monkeypatch.setattr(copy, "MOST_SOURCE", 10)
    with pytest.raises(CopyError, match="lab/work.py has 0 kB, .* hand in the file that the task"):
        copy_work(small.root, task, tmp_path / "to")


# --- its processes -------------------------------------------------------------------------------

SHARES = """
import mmap, os, sys
kept = mmap.mmap(-1, 60 << 20)
kept.write(os.urandom(60 << 20))
if os.fork() == 0:  # it sees the same pages, and holds none of them for itself
    sum(kept[place] for place in range(0, len(kept), 4096))
print(flush=True)
sys.stdin.read()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="Linux tells what processes share")
def test_memory_that_is_shared_counts_once():
    # A bare interpreter: the share that a large one has in its libraries changes with every
    # other program that loads or leaves them.
    command = [sys.executable, "-IS", "-c", SHARES]
    sharer = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert sharer.stdout.readline() and sharer.stdout.readline()
        both = tree(sharer.pid)
        assert len(both) == 2 and memory_of(both, 1 << 40) >= 120 << 20
        assert 60 << 20 <= memory_of(both, 100 << 20) < 110 << 20
    finally:
        sharer.communicate(timeout=60)


@pytest.mark.parametrize("error", [psutil.NoSuchProcess, psutil.AccessDenied])
def test_one_process_that_cannot_be_seen_hides_no_other(monkeypatch, error):
    sleep = [sys.executable, "-c", "import time; time.sleep(60)"]
    first, second = (subprocess.Popen(sleep) for _ in range(2))
    status, children = psutil.Process.status, psutil.Process.children

    def vanishes(process):
        if process.pid == first.pid:
            raise error(process.pid)
        return status(process)

    def ours(process, recursive):  # nobody else's: other tests keep ranks warm
        return [c for c in children(process) if c.pid in (first.pid, second.pid)]

    try:
        monkeypatch.setattr(psutil.Process, "status", vanishes)
        monkeypatch.setattr(psutil.Process, "children", ours)
        assert second.pid in [process.pid for process in tree(os.getpid())]
        end_below(os.getpid(), itself=False)
        assert second.wait(60) != 0
    finally:
        for child in (first, second):
            child.kill()
            child.wait()


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("from helpers.pipeline import Pipeline as P", "helpers.pipeline.Pipeline"),
        ("def f():\n    import helpers.pipeline.executor", "helpers.pipeline.executor"),
        ("from helpers import pipeline", "helpers.pipeline"),
        ("from helpers.trace import Recorder\nimport pipeline", ""),
    ],
)
def test_what_the_library_does_already_is_no_work(small, task, text, name):
    small.write("lab/work.py", f"{text}\n{ADD}return number + 1\n")
    task = replace(task, done_by=("pipeline",))
    if not name:
        return look_at(small.work, task)
    with pytest.raises(WorkFailed, match=f"lab/work.py imports {name}, which does this task"):
        look_at(small.work, task)
