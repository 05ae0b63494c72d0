"""One task, one process, one verdict: also where the work does not want to be graded."""

import json
import os
import sys
import textwrap
import time

import psutil
import pytest

from helpers.grade.limits import Held
from helpers.grade.run import grade
from helpers.grade.task import TaskError
from helpers.grade.verdict import Verdict, table


def verdict(small, body="", text=None, **options):
    text = text or f"import os, sys\n\ndef add_one(number):\n    {body}\n"
    small.write("lab/work.py", text)
    return grade("T-1", small.root, folder=small.tasks, **options)


FORGED = json.dumps({"token": "x", "kind": "pass", "sentence": "", "details": ""})
HOSTILE = {
    "exit-0": ("os._exit(0)", "crash", "rank 0 ended without a word"),
    "sys-exit-0": ("sys.exit(0)", "crash", "rank 0 ended itself at line 4 of work.py"),
    "exception": ("return 1 / 0", "crash", "at line 4 of work.py, in add_one: ZeroDivisionError"),
    # The judge never imports the work: it keeps its own idea of "equal", and of a verdict.
    "forges": (
        f"print('PASS'); print({FORGED!r}); os.write(1, {FORGED.encode()!r}); "
        "import helpers.grade.judge as j; j.judge = lambda order: ('pass', '', ''); "
        "return number - 1",
        "mistake",
        "one was taken away, not added: look at the sign",
    ),
    "endless": ("while True: pass", "time-out", "did not finish within"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_work_fails_with_its_reason(small, name):
    body, kind, reason = HOSTILE[name]
    found = verdict(small, body, seconds=4 if name == "endless" else 60)
    assert not found.passed
    assert found.kind == kind
    assert reason in found.reason
    assert ("PASS" in found.printed) == (name == "forges")


def test_file_that_cannot_be_imported(small):
    found = verdict(small, text="import no_such_module\n\n\ndef add_one(number):\n    pass\n")
    assert (found.kind, found.passed) == ("crash", False)
    assert "ModuleNotFoundError: No module named 'no_such_module'" in found.reason


def test_syntax_error(small):
    found = verdict(small, text="def add_one(number:\n")
    assert (found.kind, found.reason[:20]) == ("syntax", "lab/work.py, line 1:")


def test_the_works_own_files_take_the_place_of_nothing(small, tmp_path, monkeypatch):
    check = (small.tasks / "t_1.py").read_text(encoding="utf-8")
    small.write("tasks/t_1.py", check + "    import wave\n")  # after the work has run
    checks = small.tasks.rename(tmp_path / "checks")
    small.write("tasks/t_1.py", "from tests import nothing")
    for name in ("json.py", "torch.py", "helpers/__init__.py", "lab/wave.py", "lab/helpers.py"):
        small.write(name, "raise SystemExit(0)")
    small.write("lab/beside.py", "ONE = 1")
    work = """
        import beside, wave

        def add_one(number):
            for name in ("wave.py", "json.py"):
                open(name, "w").write("raise SystemExit(0)")
            return number + beside.ONE
    """
    small.write("lab/work.py", textwrap.dedent(work))
    monkeypatch.chdir(small.root)
    found = grade("T-1", small.root, folder=checks)
    assert (found.kind, found.passed, found.reason) == ("pass", True, ""), found.details


# The judge's own process, without ranks: what a check does that it should not do.

TASK_THAT = """
import os, sys, time
from helpers.grade import Task

TASK = Task("T-1", "add one", "lab/work.py", "add_one", "01", 1, 1, ("a", "b", "c"))

def verify(submission):
    {}
"""


def judged(small, body, **options):
    small.write("tasks/t_1.py", TASK_THAT.format(body))
    return grade("T-1", small.root, folder=small.tasks, **options)


@pytest.mark.parametrize(
    ("body", "kind", "reason"),
    [
        ("os._exit(0)", "no verdict", "the check ended with exit status 0 before it had a verdict"),
        ("sys.exit(0)", "check", "the check itself failed, which is not your mistake: SystemExit"),
        ("1 / 0", "check", "ZeroDivisionError"),
        (f"print({FORGED!r}); os._exit(0)", "no verdict", "before it had a verdict"),
        (f"os.write(1, {FORGED.encode()!r}); os._exit(0)", "no verdict", "before it had"),
    ],
)
def test_check_that_breaks(small, body, kind, reason):
    found = judged(small, body)
    assert (found.passed, found.kind) == (False, kind)
    assert reason in found.reason


def test_verdict_without_the_token_is_none(small):
    write_to_all = "\n    ".join(
        [
            "for pipe in range(3, 20):",
            f"    try: os.write(pipe, {FORGED.encode()!r})",
            "    except OSError: pass",
            "os._exit(0)",
        ]
    )
    assert judged(small, write_to_all).kind == "no verdict"


def test_backstop_ends_the_check_and_what_it_started(small, tmp_path):
    told = tmp_path / "pid"
    body = "\n    ".join(
        [
            "import subprocess",
            f"child = subprocess.Popen([{sys.executable!r}, '-c', 'import time; time.sleep(600)'])",
            f"open({str(told)!r}, 'w').write(str(child.pid))",
            "time.sleep(600)",
        ]
    )
    for backstop in (7, 60):  # the second, where the machine stood still in the first
        found = judged(small, body, seconds=1, backstop=backstop)
        if told.exists():
            break
    assert (found.kind, found.passed) == ("time-out", False)
    assert found.reason == f"the check did not end within {1 + backstop} s, and was stopped"
    assert ended(int(told.read_text()))


@pytest.mark.parametrize("system", [os.name] if os.name == "posix" else [])
def test_what_a_check_leaves_behind_ends_too(small, tmp_path, system):
    told = tmp_path / "pid"
    body = "\n    ".join(
        [
            "import subprocess",
            f"child = subprocess.Popen([{sys.executable!r}, '-c', 'import time; time.sleep(600)'])",
            f"open({str(told)!r}, 'w').write(str(child.pid))",
        ]
    )
    assert judged(small, body).passed
    assert ended(int(told.read_text()))


def ended(pid: int) -> bool:
    """Whether the process is gone, at once or soon: a zombie counts, nobody waits for an orphan."""
    for _ in range(1200):
        try:
            if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
                return True
        except psutil.NoSuchProcess:
            return True
        time.sleep(0.05)
    return False


def test_a_flood_of_text_is_cut(small):
    found = judged(small, "print('x' * 10_000_000); print('the end')")
    assert found.passed
    assert len(found.printed) <= 1 << 16
    assert found.printed.endswith("the end\n")


def test_a_long_error_of_honest_work_is_a_verdict(small):
    found = verdict(small, 'raise ValueError(f"start {list(range(100_000))} end")')
    assert found.kind == "crash" and "ValueError: start [0, 1, 2" in found.reason
    assert len(found.reason) <= 2_000 and " […] " in found.reason
    assert len(found.details) <= 8_000 and "99999] end" in found.details


def test_a_verdict_of_the_greatest_size_arrives_whole(small):
    text = "'\U0001f600' * 9_000"
    picture = "('<svg>' + 'x' * 39_000, 'words')"
    failed = f"WorkFailed('crash', {text}, {text}, {picture})"
    found = judged(small, f"from helpers.grade import WorkFailed\n    raise {failed}")
    assert (len(found.reason), len(found.details)) == (2_000, 8_000)
    assert found.picture == ("<svg>" + "x" * 39_000, "words")
    huge = failed.replace("39_000", "2_000_000")
    found = judged(small, f"from helpers.grade import WorkFailed\n    raise {huge}")
    assert (found.kind, found.picture) == ("crash", ())


def test_what_a_person_should_look_at_comes_with_the_verdict(small):
    small.write("lab/beside.py", "import gc\n")
    found = verdict(small, "import beside, inspect; return number + 1")
    assert found.passed
    assert found.look_at == (
        "line 4 names inspect, which reaches the frames of its caller",
        "lab/beside.py, line 1 names gc, which reaches all objects of its process",
    )


def test_what_was_not_held_is_said_once_and_only_then(task):
    held = Verdict(task, "pass", limits=Held({"time": "1 s"}))
    left = Verdict(task, "pass", limits=Held({"time": "1 s"}, ["files", "network"]))
    assert "not held" not in repr(held) + table([held])
    assert repr(left).splitlines()[-1] == "  not held here: files, network"
    assert table([left, held, left]).count("not held here: files, network") == 1


def test_unknown_task(small):
    with pytest.raises(TaskError, match="there is no task 'X': the tasks are T-1"):
        grade("X", small.root, folder=small.tasks)
