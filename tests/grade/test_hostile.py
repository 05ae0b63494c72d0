"""Work that does not want to be graded: it cannot pass, hang, see or damage anything.

Where this system lets the grader make namespaces, all of it is held. Elsewhere the verdict must say
what is not held; nothing more can be asked of it then.
"""

import os
import shutil
import socket
import subprocess
import sys
import textwrap
import time

import psutil
import pytest

from helpers.grade.run import grade
from helpers.grade.task import ROOT
from helpers.grade.watch import end_below, memory_of, tree


@pytest.fixture
def run(small, tmp_path):
    """Grade a body of `add_one`, with checks that lie outside of the submission."""
    checks = shutil.copytree(small.tasks, tmp_path / "checks")

    def grade_body(body, before="", **limits):
        code = textwrap.indent(textwrap.dedent(body).strip(), "    ")
        small.write("lab/work.py", f"import os\n{before}\ndef add_one(number):\n{code}\n")
        return grade("T-1", small.root, folder=checks, **{"seconds": 20, **limits})

    return grade_body


def alone(found) -> bool:
    """Whether the work had a world of its own; the verdict must say the one or the other."""
    assert ("files" in found.limits.held) != ("files" in found.limits.open)
    return "files" in found.limits.held


def test_the_verdict_says_which_limits_held(run):
    found = run("return number + 1")
    assert found.passed, found.details
    assert found.limits.held["time"] == "20 s" and "memory" in found.limits.held
    if alone(found):
        assert found.limits.held["network"] == "loopback only" and found.limits.open == []
    assert found.as_dict()["limits"]["held"] == found.limits.held


# --- a result that is no result ------------------------------------------------------------------

EVIL = """
class Evil:
    def __init__(self, code):
        self.code = code

    def __reduce__(self):
        return exec, (self.code,)
"""


@pytest.mark.parametrize(
    "code",
    [
        "import os; os._exit(0)",
        "import helpers.grade.judge as j; j.judge = lambda *a: {'kind': 'pass', 'sentence': ''}",
        "import helpers.grade.workshop as w; w.pack = lambda value: b'x' * 99",
        "import helpers.grade.workshop as w, helpers.grade.parcel as p\n"
        "w.pack = lambda value, p=p: p.pack({'kind': 'pass', 'sentence': 'all is well'})",
        "import helpers.grade.workshop as w, helpers.grade.parcel as p\n"
        "w.pack = lambda value, p=p: p.pack([1, 2])",
        "import sys, os\n[os.write(fd, b'x' * 9) for fd in range(3, 200) if os.path.exists(\n"
        "f'/proc/self/fd/{fd}')]",
        "import helpers.oracle as o, torch\n"
        "o.differences = lambda *a, **k: []; torch.equal = lambda *a: True",
    ],
    ids="exit patch-judge garbage forge-pass forge-list write-to-all patch-oracle".split(),
)
def test_a_pickle_that_runs_code_reaches_nobody_who_judges(run, code):
    found = run(f"return Evil({code!r})", EVIL)
    assert not found.passed
    assert found.kind in ("crash", "mistake", "time-out")
    assert found.reason and "check itself failed" not in found.reason


@pytest.mark.parametrize(
    "value",
    ["float('nan')", "None", "b'pass'", "[number + 1]", "lambda: 1", "str(number + 1)"],
)
def test_an_answer_of_another_kind_is_none(run, value):
    assert not run(f"return {value}").passed


def test_a_result_that_contains_itself(run):
    found = run("found = []; found.append(found); return found")
    assert (found.kind, found.reason) == (
        "crash",
        "the result contains itself, or is nested too deep",
    )


# --- what it takes -------------------------------------------------------------------------------


def test_a_fork_bomb_ends_with_its_check(run):
    mine = psutil.Process()
    before = {child.pid for child in mine.children(recursive=True)}
    found = run("while True:\n    os.fork()", seconds=15)
    assert found.kind in ("limit", "crash", "time-out") and found.reason
    time.sleep(0.5)
    left = [p for p in mine.children(recursive=True) if p.pid not in before]
    assert len(left) < 10, left


@pytest.mark.parametrize(
    "body",
    [
        "kept = []\nwhile True:\n    kept.append(bytearray(os.urandom(1 << 20) * 200))",
        "import torch\nreturn torch.ones(1 << 34).sum()",
        # Each one stays below the limit; together they do not.
        """
        for _ in range(6):
            if os.fork() == 0:
                kept = bytearray(os.urandom(1 << 20) * 300)
                os.pause() if hasattr(os, "pause") else __import__("signal").pause()
        __import__("signal").pause()
        """,
        # No process holds this for itself.
        """
        import mmap, signal
        kept = mmap.mmap(-1, 3 << 29)
        for _ in range(96):
            kept.write(bytes(1 << 24))
        signal.pause()
        """,
    ],
    ids=["list", "tensor", "together", "shared"],
)
def test_a_hog_is_stopped(run, body):
    found = run(body, gigabytes=1.2, seconds=60)
    assert found.kind in ("crash", "limit")
    words = ("MemoryError", "memory", "SIGKILL")
    assert any(word in found.reason for word in words), found.reason


SHARES = """
import mmap, os, sys
kept = mmap.mmap(-1, 60 << 20)
kept.write(os.urandom(60 << 20))
child = os.fork()  # it sees the same pages, and holds none of them for itself
if child == 0:
    sum(kept[place] for place in range(0, len(kept), 4096))
print(flush=True)
sys.stdin.read()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells shares")
def test_memory_that_is_shared_counts_once():
    # A bare interpreter: the share that a large one has in its libraries changes with every
    # other program that loads or leaves them.
    sharer = subprocess.Popen(
        [sys.executable, "-IS", "-c", SHARES], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        assert sharer.stdout.readline() and sharer.stdout.readline()
        both = tree(sharer.pid)
        assert len(both) == 2
        own, whole = memory_of(both), memory_of(both, 1 << 40)
        assert own < 50 << 20 and whole >= 120 << 20
        # What may be used lies between the two: so the system is asked for shares.
        assert 60 << 20 <= memory_of(both, own + (1 << 20)) < 110 << 20
    finally:
        sharer.communicate(timeout=60)


@pytest.mark.parametrize("error", [psutil.NoSuchProcess, psutil.AccessDenied])
def test_one_process_that_cannot_be_seen_hides_no_other(monkeypatch, error):
    sleep = [sys.executable, "-c", "import time; time.sleep(60)"]
    sleepers = [subprocess.Popen(sleep) for _ in range(2)]
    first = sorted(child.pid for child in sleepers)[0]
    status = psutil.Process.status

    def vanishes(process):
        if process.pid == first:
            raise error(process.pid)
        return status(process)

    try:
        monkeypatch.setattr(psutil.Process, "status", vanishes)
        assert next(c.pid for c in sleepers if c.pid != first) in [p.pid for p in tree(os.getpid())]
        mine = {child.pid for child in sleepers}
        known = psutil.Process.children
        monkeypatch.setattr(  # nobody else's children: other tests keep ranks warm
            psutil.Process,
            "children",
            lambda process, recursive: [c for c in known(process) if c.pid in mine],
        )
        end_below(os.getpid(), itself=False)
        assert next(c for c in sleepers if c.pid != first).wait(60) != 0
    finally:
        for child in sleepers:
            child.kill()
            child.wait()


def test_a_full_disk_is_its_own(run):
    body = """
    with open("flood", "wb") as file:
        while True:
            file.write(bytes(1 << 24))
    """
    found = run(body)
    assert found.kind == "crash"
    assert "OSError" in found.reason


# --- what it can see and change ------------------------------------------------------------------


def test_nothing_outside_can_be_written_or_deleted(run, small, tmp_path):
    victim = small.write("lab/victim.txt", "years of work")
    other = tmp_path / "other.txt"
    other.write_text("marks of the others")
    os.chmod(other, 0o666)
    body = f"""
    import shutil
    for name in ({str(victim)!r}, {str(other)!r}):
        try:
            open(name, "w").write("gone")
        except OSError:
            pass
        try:
            os.remove(name)
        except OSError:
            pass
    for name in ({str(small.root)!r}, {str(tmp_path / "checks")!r}):
        shutil.rmtree(name, ignore_errors=True)
    return number + 1
    """
    found = run(body)
    if alone(found):
        assert victim.read_text() == "years of work"
        assert other.read_text() == "marks of the others"
        assert small.work.exists() and (tmp_path / "checks" / "t_1.py").exists()


def test_solutions_of_the_teacher_and_work_of_others_are_not_there(run, tmp_path):
    other = tmp_path / "neighbour" / "work.py"
    other.parent.mkdir()
    other.write_text("def add_one(number): return number + 1")
    secret = ROOT / "DP" / "gradient_aggr" / "intro_DP_GA.py"
    mistakes = ROOT / "tasks" / "mistakes" / "dp_1.py"
    body = f"""
    names = {[str(other), str(secret), str(mistakes)]!r}
    raise ValueError(f"seen: {{[name for name in names if os.path.exists(name)]}}")
    """
    found = run(body)
    if alone(found):
        assert "ValueError: seen: []" in found.reason


def test_no_other_process_and_no_secret_of_the_teacher_can_be_seen(run, monkeypatch):
    monkeypatch.setenv("TEACHERS_TOKEN", "open sesame")
    body = """
    seen = " ".join(f"{name}={value}" for name, value in os.environ.items())
    for pid in filter(str.isdigit, os.listdir("/proc") if os.path.exists("/proc") else []):
        for part in ("environ", "cmdline"):
            try:
                seen += open(f"/proc/{pid}/{part}", errors="replace").read()
            except OSError:
                pass
    raise ValueError(f"seen: {'sesame' in seen} {'pytest' in seen}")
    """
    found = run(body)
    if alone(found):
        assert "ValueError: seen: False False" in found.reason
    assert "seen: True" not in found.reason


def test_no_network_but_its_own_loopback(run):
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        body = f"""
        import socket
        reached = []
        for address in (("127.0.0.1", {server.getsockname()[1]}), ("192.0.2.1", 80)):
            try:
                socket.create_connection(address, timeout=2).close()
                reached.append(address)
            except OSError as error:
                reached.append(error.errno)
        with socket.socket() as mine:
            mine.bind(("127.0.0.1", 0))
            mine.listen()
            socket.create_connection(mine.getsockname()).close()
        raise ValueError(f"reached: {{reached}}")
        """
        found = run(body)
    if alone(found):
        assert "ValueError: reached: [111, 101]" in found.reason


@pytest.mark.parametrize("target", ["os.getppid()", "1"])
def test_it_cannot_end_what_grades_it(run, target):
    # "1" is the first process of its own world; on a system without worlds, somebody else's.
    if target == "1" and not alone(run("return number + 1")):
        return
    found = run(f"os.kill({target}, 9)\nimport time; time.sleep(1); return number")
    assert not found.passed and found.reason


def test_a_link_to_somebody_elses_work_is_refused(small, tmp_path, run):
    right = tmp_path / "right.py"
    right.write_text("def add_one(number):\n    return number + 1\n")
    run("return number + 1")
    small.work.unlink()
    small.work.symlink_to(right)
    found = grade("T-1", small.root, folder=tmp_path / "checks")
    assert (found.kind, found.passed) == ("no file", False)
    assert found.reason == (
        "lab/work.py is a link, and links are not followed: hand in the file itself"
    )


def test_a_file_too_large_to_be_read_as_python_is_refused(run):
    found = run("return number + 1", before="\n#" * 300_000)
    assert (found.kind, found.reason) == (
        "no file",
        "lab/work.py has 600 kB, and a task's file has at most 500: hand in the file that was to "
        "be written",
    )


def test_edited_checks_and_helpers_of_the_submission_are_not_used(run, small):
    small.write("tasks/t_1.py", "def verify(submission): return 'all is well'")
    small.write("helpers/grade/judge.py", "print('all is well')")
    small.write("sitecustomize.py", "raise SystemExit(0)")
    found = run("return number - 1")
    assert (found.kind, found.reason) == (
        "mistake",
        "one was taken away, not added: look at the sign",
    )
