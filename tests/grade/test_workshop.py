"""The process in which the work lives: with and without a world of its own."""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from helpers.grade import confine
from helpers.grade.limits import Limits
from helpers.grade.marks import find_regions
from helpers.grade.task import ROOT
from helpers.grade.workshop import Job, Order
from helpers.grade.workshop_client import WorkFailed, Workshop

WORK = """
def double(number):
    if number == 0:
        import os
        os.kill(os.getpid(), 9)
    return 2 * number
"""
CHECK = """
def work(module, number):
    return module.double(number)


def apart(path, number):
    return [path.endswith("work.py"), number]
"""


@pytest.fixture
def place(tmp_path):
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "work.py").write_text(WORK)
    (tmp_path / "check.py").write_text(CHECK)
    return tmp_path


def job(place, function, *args, ranks=0):
    paths = str(place / "work" / "work.py"), str(place / "check.py")
    return Job(*paths, function, args, ranks, 30)


def test_without_a_world_it_works_and_says_what_is_open(place):
    """As on a system without namespaces, in an interpreter of its own."""
    workshop = Workshop(fork=False)
    try:
        held = workshop.open(Order(str(place), str(place), Limits(), alone=False))
        assert held.open == ["files", "network", "user"]
        assert str(held).endswith("; not held here: files, network, user")
        assert workshop.do(job(place, "apart", 4), 30) == [True, 4]
        assert workshop.do(job(place, "work", 4, ranks=2), 60) == [8, 8]
        with pytest.raises(WorkFailed, match="rank 0 ended without a word: .*SIGKILL"):
            workshop.do(job(place, "work", 0, ranks=1), 60)
        assert workshop.do(job(place, "work", 3, ranks=1), 60) == [6]
    finally:
        workshop.close()


def test_what_does_not_answer_is_given_up(place):
    (place / "check.py").write_text("def work(path):\n    import time\n    time.sleep(60)\n")
    workshop = Workshop(fork=False)
    try:
        workshop.open(Order(str(place), str(place), Limits(), alone=False))
        with pytest.raises(WorkFailed, match="does not answer any more") as caught:
            workshop.do(job(place, "work"), 1)
        assert caught.value.kind == "time-out"
    finally:
        workshop.close()


FLOOD = """
import struct, sys, time
order = sys.stdin.buffer.read(1)
{}
sys.stdout.buffer.flush()
time.sleep(60)
"""
FLOODS = {
    "what came back is more than was asked for": "sys.stdout.buffer.write(\n"
    "    (struct.pack('>Q', 1_000_000) + bytes(1_000_000)) * 20)",
    "what came back has more than 256 MB": "sys.stdout.buffer.write(struct.pack('>Q', 1 << 40))",
}


@pytest.mark.parametrize("reason", FLOODS)
def test_a_flood_of_answers_is_a_fail_with_its_reason(place, monkeypatch, reason):
    program = FLOOD.format(FLOODS[reason])
    popen = subprocess.Popen
    monkeypatch.setattr(
        subprocess, "Popen", lambda command, **kw: popen([sys.executable, "-c", program], **kw)
    )
    workshop = Workshop(fork=False)
    try:
        order = Order(str(place), str(place), Limits(), alone=False)
        with pytest.raises(WorkFailed):
            workshop.open(order)  # what has come before it was too much may be read as an answer
        end = time.monotonic() + 60
        while not workshop._flood and time.monotonic() < end:
            time.sleep(0.02)
        with pytest.raises(WorkFailed) as caught:
            workshop.open(order)
        assert caught.value.sentence == reason
    finally:
        workshop.close()


ENTER = """
import os, sys
from pathlib import Path
from helpers.grade import confine

plain = confine._unshare
def without_root(flags):
    if not flags & confine.NEWUSER:
        raise PermissionError(1, "as in a container")
    plain(flags)
confine._unshare = without_root
held = confine.enter(Path(sys.argv[1]), Path(sys.argv[1], "checks"))
print(held["user"], os.getuid() != 0, os.path.exists(sys.argv[2]), os.getpid())
try:
    os.setuid(0)
except OSError as error:
    print(type(error).__name__)
for path in ("/usr/x", os.path.join(sys.argv[3], "helpers", "x")):
    try:
        open(path, "w")
    except OSError as error:
        print(error.errno)
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
print(libc.mount(None, b"/usr", None, 0x1020, None), libc.umount2(b"/usr", 2))
lab = Path(sys.argv[3])
names = "helpers", "demo.py", "tasks/dp_1.py", "tasks/mistakes/dp_1.py"
print([(lab / name).exists() for name in names])
"""
ALL = "True, False, True, False]"  # what there is of the lab: no script, no mistake


LINUX = [""] if sys.platform == "linux" else []
# As if the lab lay in /usr; not where the folder above it also holds the new root, which lies among
# temporary files.
if LINUX and not Path(tempfile.gettempdir()).resolve().is_relative_to(ROOT.parent):
    LINUX.append(f"confine.SYSTEM += ({str(ROOT.parent)!r},)")


@pytest.mark.parametrize("before", LINUX, ids=["plain", "lab-below-a-shown-folder"][: len(LINUX)])
def test_a_user_without_rights_has_a_world_too(place, before):
    """The way of everybody who is not root, and of root in a container: a user namespace."""
    program = ENTER.replace("held =", f"{before}\nheld =")
    command = [sys.executable, "-P", "-c", program, str(place), str(place / "secret"), str(ROOT)]
    (place / "secret").write_text("marks")
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    if "Operation not permitted" in done.stderr and "unshare" in done.stderr:
        return  # this system lets nobody make namespaces, and the verdicts say so
    assert done.stdout.split() == (
        f"the same, without rights True False 1 OSError 30 30 -1 -1 [{ALL}".split()
    ), done.stderr


def test_nothing_of_the_lab_that_gives_solutions_away_is_shown():
    hidden = [ROOT / name for name in confine.HIDDEN]
    for path in [ROOT / name for name in confine.LAB]:
        for file in path.rglob("*.py") if path.is_dir() else [path]:
            if file.suffix == ".py" and not any(file.is_relative_to(folder) for folder in hidden):
                assert find_regions(file.read_text(encoding="utf-8"), str(file)) == []


JUDGE = """
import sys
from helpers.grade.judge import judge
from helpers.grade.workshop_client import Workshop

order = {"task": "T-1", "place": sys.argv[1], "checks": sys.argv[2], "seed": 5, "seconds": 90}
verdict = judge(order | {"gigabytes": 4}, Workshop())
print(verdict["kind"], verdict["limits"]["open"], verdict["sentence"])
"""


def test_where_a_world_cannot_be_built_the_work_is_judged_without_and_that_is_said(small, tmp_path):
    place = tmp_path / "place"
    (place / "root").mkdir(parents=True)  # where the new root would be made: it cannot be
    (place / "work" / "lab").mkdir(parents=True)
    (place / "work" / "lab" / "work.py").write_bytes(small.work.read_bytes())
    done = subprocess.run(
        [sys.executable, "-P", "-c", JUDGE, str(place), str(small.tasks)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.stdout.strip() == "pass ['files', 'network', 'user']", done.stderr
