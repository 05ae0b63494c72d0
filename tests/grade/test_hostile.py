"""Work that doesn't want to be graded, in the sandbox: it can't pass, hang, spy or destroy."""

import json
import socket
import time
from pathlib import Path

import psutil
import pytest

from helpers.grade import submission
from helpers.grade.task import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.ranks]

FORGED = json.dumps({"kind": "pass", "results": [1, 8], "sentence": ""})
SLEEPER = "import time; time.sleep(613.25)"
DETACHED = f"""
import subprocess
subprocess.Popen([sys.executable, "-c", {SLEEPER!r}], start_new_session=True,
                 stdin=-3, stdout=-3, stderr=-3)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execv(sys.executable, [sys.executable, "-c", {SLEEPER!r}])
    os._exit(0)
return number - 1
"""
HOG = "kept = []\nwhile True:\n    kept.append(bytearray(os.urandom(1 << 20) * 200))"
TOGETHER = """
import signal
for _ in range(8):  # each one stays below the limit; together they don't
    if os.fork() == 0:
        kept = bytearray(os.urandom(1 << 20) * 300)
        signal.pause()
signal.pause()
"""
SHARED = """
import mmap, signal  # no process holds this for itself
kept = mmap.mmap(-1, 3 << 29)
for _ in range(96):
    kept.write(bytes(1 << 24))
signal.pause()
"""
PATCHED = """
import torch, helpers.grade.verify as verify, helpers.grade.judge as judge
torch.equal = torch.allclose = verify.same = verify._equal = lambda *a, **k: True
verify.verify = lambda *a: None
judge.judge = lambda *a, **k: "pass"
return number - 1
"""
MEMORY = ("memory", "MemoryError", "SIGKILL")
SIGN = "one was taken away, not added: look at the sign"
HOSTILE = {  # body, the kinds that its verdict may have, and words one of which is in its reason
    "loop": ("while True: pass", {"time-out"}, ["did not finish within"]),
    "exit-0": ("os._exit(0)", {"crash"}, ["rank 0 ended without a word"]),
    "sys-exit-0": ("sys.exit(0)", {"crash"}, ["rank 0 ended itself at line 4 of work.py"]),
    "raises": ("return 1 / 0", {"crash"}, ["at line 4 of work.py, in add_one: ZeroDivisionError"]),
    "prints": (f"print('PASS', {FORGED!r})\nreturn number - 1", {"mistake"}, [SIGN]),
    "patches": (PATCHED, {"mistake"}, [SIGN]),
    "fork-bomb": ("while True:\n    os.fork()", {"limit", "crash", "time-out"}, [""]),
    "detached": (DETACHED, {"mistake"}, [SIGN]),
    "hog": (HOG, {"crash", "limit"}, MEMORY),
    "tensor": ("import torch\nreturn torch.ones(5 << 28)", {"crash", "limit"}, MEMORY),
    "together": (TOGETHER, {"limit", "crash"}, MEMORY),
    "shared": (SHARED, {"limit", "crash"}, MEMORY),
    "ends-its-parent": ("os.kill(os.getppid(), 9)\nimport time; time.sleep(9)",
                        {"crash", "time-out"}, ["ended", "ends", "gone"]),
    "ends-the-first": ("os.kill(1, 9)\nimport time; time.sleep(1)\nreturn number",
                       {"crash", "mistake"}, [""]),
    "stops-its-parents": ("os.kill(os.getppid(), 19)\nos.kill(1, 19)\nreturn number",
                          {"crash", "mistake", "time-out"}, [""]),
    "contains-itself": ("found = []; found.append(found); return found", {"crash"},
                        ["contains itself"]),
    "fills-the-disk": ("file = open('flood', 'wb')\nwhile True: file.write(bytes(1 << 24))",
                       {"crash"}, ["OSError"]),
}  # fmt: skip


@pytest.mark.long_for("loop", "stops-its")
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_work_fails_with_its_reason_and_the_next_check_is_sound(
    confined, name, monkeypatch
):
    if name == "stops-its-parents":
        monkeypatch.setattr(submission, "MARGIN_S", 3)  # it's waited for to the end
    body, kinds, words = HOSTILE[name]
    # What takes memory or the disk needs longer on a busy machine, and is never waited for.
    found = confined(body, seconds=6 if "time-out" in kinds else 60, gigabytes=1.5)
    assert found.kind in kinds and any(word in found.reason for word in words), found
    assert found.reason and "check itself failed" not in found.reason
    assert found.limits.held.keys() >= {"time", "memory", "processes", "files", "network"}
    assert gone(SLEEPER) and confined("return number + 1").passed


def gone(words: str) -> bool:
    """Whether no process with these words in its command is left, at once or soon."""
    for _ in range(200):
        commands = [process.info["cmdline"] or [] for process in psutil.process_iter(["cmdline"])]
        if not any(words in command for command in commands):
            return True
        time.sleep(0.05)
    return False


EVIL = """
class Evil:
    def __init__(self, code):
        self.code = code

    def __reduce__(self):
        return exec, (self.code,)
"""
FORGE = "import helpers.grade.workshop as w, helpers.grade.payload as p\nw.pack = lambda value: "


@pytest.mark.parametrize(
    "code",
    [
        "import os; os._exit(0)",
        "import helpers.grade.judge as j; j._compared = lambda *a: {'kind': 'pass', 'reason': ''}",
        FORGE + "b'x' * 99",
        FORGE + "p.pack({'kind': 'pass', 'sentence': 'all is well'})",
        FORGE + "p.pack([1, 2])",
        "import os\n[os.write(fd, b'x' * 9) for fd in range(3, 200) if os.path.exists(\n"
        "f'/proc/self/fd/{fd}')]",
    ],
    ids="exit patch-judge garbage forge-pass forge-list write-to-all".split(),
)
def test_a_result_that_would_run_code_where_it_is_read(confined, code):
    for body in (f"return Evil({code!r})", f"exec({code!r})\nreturn Evil('')"):
        found = confined(body, EVIL)
        assert found.kind in ("crash", "mistake", "time-out"), found
        assert found.reason and "check itself failed" not in found.reason


@pytest.mark.parametrize("value", ["[number + 1]", "lambda: 1"])
def test_an_answer_of_another_kind_is_wrong(confined, value):
    assert not confined(f"return {value}").passed


# --- what it can see and change ------------------------------------------------------------------


def seen(found) -> str:
    """What a body has told, as the message of an error."""
    assert found.kind == "crash", found.reason
    assert "ValueError: " in found.reason, found.reason
    return found.reason.partition("ValueError: ")[2]


def test_solutions_tasks_and_the_work_of_others_are_not_there(confined, tmp_path):
    other = tmp_path / "neighbor" / "work.py"
    other.parent.mkdir()
    other.write_text("def add_one(number): return number + 1")
    names = [str(ROOT / name) for name in ("DP", "demo.py", "tests", "tasks/dp_1.py")]
    names += [str(ROOT / "tasks" / name) for name in ("answers", "whole.zip")]
    names += [str(confined.checks.tasks / "t_1.py"), str(confined.small.root), str(other)]
    body = f"raise ValueError([name for name in {names!r} if os.path.exists(name)])"
    assert seen(confined(body)) == "[]"


TASKS_BY_IMPORT = """
found = []
for name in ("tasks.dp_2", "tasks.answers", "tasks.answers._mistakes"):
    try:
        found.append(str(__import__(name)))
    except (ImportError, PermissionError):
        pass
raise ValueError(found)
"""
TASKS_BY_PATH = """
import importlib.util, tasks
from helpers.grade.task import load_packed, load_task, load_whole
from pathlib import Path
found = []
for folder in (Path({0!r}), Path(tasks.__file__).parent):
    for task_id in ("T-1", "DP-1"):
        try:
            found.append(str(load_whole(load_task(task_id, folder))))
        except (OSError, ImportError, ValueError):
            pass
    try:
        found.append(str(load_packed(folder, "_mistakes", "answers")))
    except (OSError, ImportError, ValueError):
        pass
raise ValueError(found)
"""


def test_what_the_tasks_expect_cannot_be_imported(confined, free):
    assert seen(confined(TASKS_BY_IMPORT)) == "[]"
    assert seen(free(TASKS_BY_IMPORT)) == "[]"
    found = confined(TASKS_BY_PATH.format(str(confined.checks.tasks)))
    assert seen(found) == "[]"
    assert seen(free(TASKS_BY_PATH.format(str(free.checks.tasks)))) == "[]"


def test_no_other_process_and_no_secret_of_the_teacher_can_be_seen(confined, monkeypatch):
    mine = Path("/proc/self/cmdline").read_text()
    monkeypatch.setenv("TEACHERS_TOKEN", "open sesame")
    confined.submission.close()  # its process would be from before the secret
    confined.submission.__init__(confined.small.root, confined.checks.tasks)
    found = confined(f"""
        seen = str(dict(os.environ))
        for pid in filter(str.isdigit, os.listdir("/proc")):
            for part in ("environ", "cmdline"):
                try:
                    seen += open("/proc/" + pid + "/" + part, errors="replace").read()
                except OSError:
                    pass
        raise ValueError(["sesame" in seen, {mine!r} in seen])
    """)
    assert seen(found) == "[False, False]"


def test_no_network_but_its_own_loopback(confined):
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        found = confined(f"""
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
            raise ValueError(reached)
        """)
    assert seen(found) == "[111, 101]"


def test_nothing_outside_can_be_written_or_deleted(confined, tmp_path):
    victim = confined.small.write("lab/victim.py", "years of work")
    other = tmp_path / "other.txt"
    other.write_text("marks of the others")
    other.chmod(0o666)
    names = [str(path) for path in (victim, other, confined.checks.tasks / "t_1.py")]
    found = confined(f"""
        import ctypes, shutil
        done = []
        for name in [*{names!r}, "/usr/x", {str(ROOT / "helpers" / "x")!r}, __file__]:
            for change in (lambda: open(name, "w").write("gone"), lambda: os.remove(name)):
                try:
                    done.append(change() or name)
                except OSError:
                    pass
        for name in ({str(confined.small.root)!r}, {str(confined.checks.tasks)!r}):
            shutil.rmtree(name, ignore_errors=True)
        libc = ctypes.CDLL(None)
        done += [1 for way in (libc.umount2(b"/usr", 2), libc.setuid(0)) if way == 0]
        done += [1] * (libc.mount(None, b"/usr", None, 0x1020, None) == 0)
        raise ValueError([done, os.getuid() == 0])
    """)
    victim.unlink()
    assert seen(found) == "[[], False]"
    assert other.read_text() == "marks of the others"
    assert (confined.checks.tasks / "t_1.py").exists()


def test_links_and_floods_of_source_are_refused(confined, tmp_path):
    found = confined("return number + 1", before="\n#" * 300_000)
    assert found.kind == "no file" and "lab/work.py has 600 kB" in found.reason
    right = tmp_path / "right.py"
    right.write_text("def add_one(number):\n    return number + 1\n")
    confined.small.work.unlink()
    confined.small.work.symlink_to(right)
    found = confined.judge()
    confined.small.work.unlink()
    assert found.kind == "no file" and "lab/work.py is a link" in found.reason


def test_edited_checks_and_helpers_of_the_submission_are_not_used(confined, monkeypatch):
    names = ["tasks/t_1.py", "tasks/_stages.py", "helpers/grade/judge.py", "sitecustomize.py"]
    names += ["json.py", "torch.py", "lab/torch.py", "lab/wave.py", "lab/helpers.py"]
    for name in names:
        confined.small.write(name, "print('all is well')\nraise SystemExit(0)")
    confined.small.write("lab/beside.py", "ONE = 1")
    monkeypatch.chdir(confined.small.root)
    try:
        found = confined("return number - beside.ONE", before="import beside, wave")
        assert found.kind == "mistake" and found.reason.startswith(SIGN), found
    finally:
        for name in [*names, "lab/beside.py"]:
            (confined.small.root / name).unlink()
