"""The judge and the process of the work, without a sandbox: as on every system."""

import struct
import subprocess
import sys
import time
from dataclasses import replace

import psutil
import pytest

from helpers.grade import submission
from helpers.grade.limits import Limits
from helpers.grade.payload import PayloadError, pack
from helpers.grade.submission import Submission, WorkFailed, _Workshop, read_answer
from helpers.grade.task import load_task, load_whole
from helpers.grade.workshop import _in_our_words
from helpers.ranks.failure import Failure

from .conftest import WORK

pytestmark = [pytest.mark.slow, pytest.mark.patient]


def test_what_is_not_held_is_told(free):
    found = free("print('x' * 200_000); print('the end'); return number + 1")
    assert found.passed and found.limits.open == ["files", "network", "user"]
    assert "not held here: files, network, user" in repr(found)
    assert found.printed.endswith("the end\n") and len(found.printed) <= 1 << 16


def test_no_pass_for_what_ends_hangs_or_lies_and_the_next_check_is_sound(free):
    child = "import time; time.sleep(614.5)"
    detached = f"[sys.executable, '-c', {child!r}], start_new_session=True"
    detached = f"import subprocess; subprocess.Popen({detached}); return 0"
    for body, kind in {
        "os._exit(0)": "crash",
        "while True: pass": "time-out",
        "os.kill(os.getppid(), 9); import time; time.sleep(5)": "crash",
        detached: "mistake",
        "import torch; torch.equal = torch.allclose = lambda *a: True; return 0": "mistake",
    }.items():
        found = free(body, seconds=6)
        assert found.kind == kind and found.reason, (body, found)
        assert free("return number + 1").passed
    end = time.monotonic() + 20
    while any(child in (p.info["cmdline"] or []) for p in psutil.process_iter(["cmdline"])):
        assert time.monotonic() < end, "a process of the work is still there"
        time.sleep(0.1)


def test_what_a_check_leaves_on_the_disk_is_gone_before_the_next(free):
    assert free("open('left', 'w').close()\nreturn number + 1").passed
    assert free("return number + 1 - os.path.exists('left')").passed
    found = free("os.chdir('..')\nraise ValueError(os.getcwd())")
    assert str(free.submission._place) in found.reason  # and goes with it


def test_a_flood_of_numbers_is_judged_at_once():
    task = load_whole(load_task("GP-3"))
    flood = {"parts": [list(range(n, 60_000, 3)) for n in range(3)], "kinds": [], "devices": []}
    begun = time.monotonic()
    assert "each layer once" in task.explain(task.cases(1)[0], flood)
    assert time.monotonic() - begun < 5


def test_a_file_that_cannot_be_run(free):
    found = free("pass", before="import no_such_module")
    assert "ModuleNotFoundError: No module named 'no_such_module'" in found.reason
    free.small.write("lab/work.py", "def add_one(number:\n")
    found = free.judge()
    assert (found.kind, found.reason[:20]) == ("syntax", "lab/work.py, line 1:")


def test_a_long_error_is_cut(free):
    found = free('raise ValueError(f"start {list(range(100_000))} end")')
    assert "ValueError: start [0, 1, 2" in found.reason and " […] " in found.reason
    assert len(found.reason) <= 2_000 and len(found.details) <= 8_000
    assert "99999] end" in found.details


@pytest.mark.parametrize("seed", [10**40, -(10**30)])
def test_any_whole_number_is_a_seed(free, seed):
    free.small.write("lab/work.py", "def add_one(number):\n    return number + 1\n")
    assert free.judge(seed=seed).passed


def test_a_check_that_breaks_is_nobodys_mistake(free):
    found = free.judge({"return [seed,": "return [1 / 0,"})
    assert found.kind == "check" and "ZeroDivisionError" in found.reason


RANKS = {"minutes=1,": "minutes=1, ranks=2,"}
DEADLOCK = """
import torch
import torch.distributed as dist

def add_one(number):
    dist.send(torch.ones(4), 1 - dist.get_rank())
    return number + 1
"""


def test_a_deadlock_in_words_and_as_a_picture(free):
    free.small.write("lab/work.py", DEADLOCK)
    found = free.judge(RANKS)
    assert found.kind == "time-out" and "deadlock: ranks 0 and 1 both send first" in found.reason
    svg, words = found.picture
    assert "</svg>" in svg and words and "line 6" in found.details
    html = found._repr_html_()
    assert '<img alt="' in html and "<svg" not in html  # an image, in which no script can run
    stuck = {"MUTANTS": "stuck = lambda waits: f'stuck: {sorted(waits)}'\nMUTANTS"}
    assert free.judge(RANKS | stuck).reason == "stuck: [(0, 'send', 1), (1, 'send', 0)]"


def test_what_does_not_fit_is_told_in_the_words_of_the_task(free):
    mean = "dist.all_reduce(torch.ones(1 + dist.get_rank()))"
    work = DEADLOCK.replace("dist.send(torch.ones(4), 1 - dist.get_rank())", mean)
    free.small.write("lab/work.py", work)
    told = free.judge(RANKS).reason
    assert told.startswith("the tensors of a collective have different sizes: rank 0 calls all_")
    words = {"MUTANTS": "MISFITS = {'size': 'columns', 'dtype': 'rows'}\nMUTANTS"}
    assert free.judge(RANKS | words).reason == "columns"


def test_what_cannot_be_compared_is_the_works_fault(free):
    free.small.write("lab/work.py", WORK)
    found = free.judge({"MUTANTS": "explain = lambda case, seen: seen['sum'] and None\nNONE"})
    assert found.kind == "crash" and "the check can't read (TypeError: 'int'" in found.reason
    assert "return what the docstring of add_one says" in found.reason


# --- forged answers ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "said",
    [5, [], {"results": [], "more": 1}, {"results": [], "texts": 5}, {"texts": [5]}, {5: 6},
     {"kind": "crash", "sentence": 5}, {"kind": [], "sentence": ""}, {"picture": b"<svg>"},
     {"misfit": 5}, {"waits": [(0, "recv", 1)]}, {"waits": ((0, "recv"),)},
     {"waits": ((0, "recv", []),)}, {"waits": (("0", "recv", 1),)}, {"waits": (0, 1, 2)}],
)  # fmt: skip
def test_an_answer_that_is_none(said):
    with pytest.raises(PayloadError, match="what came back isn't a result"):
        read_answer(pack(said))


def payload(value: dict) -> bytes:
    data = pack(value)
    return struct.pack(">Q", len(data)) + data


READY = payload({"user": ""})
FLOODS = {  # what a process in the workshop's place answers, again and again, and what is said then
    "has more than 256 MB": struct.pack(">Q", 1 << 40),
    "what came back isn't a result": struct.pack(">Q", 9) + bytes(9),
    "no longer answers": payload({"texts": []}),  # and never that it has ended
    "ended the process that runs it": b"",
}


@pytest.mark.parametrize("words", FLOODS)
def test_a_forged_answer_ends_the_check_in_its_time(tmp_path, monkeypatch, words):
    out = "sys.stdout.buffer"
    program = f"import sys, time\n{out}.write({READY!r}); {out}.flush()\nsys.stdin.buffer.read(1)\n"
    if FLOODS[words]:
        program += f"while True: {out}.write({FLOODS[words]!r}); {out}.flush(); time.sleep(.01)"
    popen = subprocess.Popen
    command = [sys.executable, "-c", program]
    monkeypatch.setattr(subprocess, "Popen", lambda old, **more: popen(command, **more))
    monkeypatch.setattr(submission, "MARGIN_S", 1)
    workshop = _Workshop(tmp_path, confined=False)
    try:
        workshop.wait()
        with pytest.raises(WorkFailed, match=words):
            workshop.do({"number": 1}, Limits(1))
    finally:
        workshop.close()


def test_a_process_that_does_not_start_is_not_the_works_fault(small, monkeypatch):
    popen = subprocess.Popen
    command = [sys.executable, "-c", "raise SystemExit('no torch here')"]
    monkeypatch.setattr(subprocess, "Popen", lambda old, **more: popen(command, **more))
    with (
        Submission(small.root, small.tasks, confined=False) as work,
        pytest.raises(WorkFailed) as e,
    ):
        work.observe(load_task("T-1", small.tasks), [], Limits())
    assert e.value.kind == "check" and "no torch here" in e.value.details


@pytest.mark.parametrize(
    ("failure", "kind", "words"),
    [
        (Failure(1, "…", error="NotImplementedError", text="Task DP-1: do it."), "not done",
         "not done yet: Task DP-1: do it."),
        (Failure(1, "rank 1: x", error="NotImplementedError", text="x"), "crash", "rank 1: x"),
        (Failure(1, "rank 1: NotImplementedError: Task DP-1: x", error="ValueError",
                 text="NotImplementedError: Task DP-1: x"), "crash",
         "rank 1: NotImplementedError: Task DP-1: x"),
        (Failure(None, "both wait", cure="turn one round"), "time-out",
         "both wait. turn one round"),
        (Failure(None, "both work", details="  Cure: x"), "time-out", "both work"),
    ],
)  # fmt: skip
def test_a_failure_of_ranks_in_the_words_of_a_verdict(failure, kind, words):
    found = _in_our_words(replace(failure, traceback="Traceback …"))
    assert (found["kind"], found["sentence"]) == (kind, words)
    assert "Traceback …" in found["details"]
