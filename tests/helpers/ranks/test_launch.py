"""A function on ranks returns results in order, names the first failure, leaves nothing behind."""

import atexit
import multiprocessing.forkserver
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy
import pytest
import torch
import torch.distributed as dist

from helpers.ranks import CannotSend, RankFailed, keep_warm, launch, pool, run_script
from helpers.ranks.output import Output
from tests.said import said

pytestmark = pytest.mark.ranks
FORKS = pytest.mark.skipif(sys.platform != "linux", reason="ranks are forked on Linux only")


def test_results_come_back_in_order_and_output_is_marked(capfd):
    offset = 10.0

    def add(n):
        x = torch.full((n,), dist.get_rank() + offset)
        dist.all_reduce(x)
        print("I am", dist.get_rank())
        os.write(1, b"from below Python\n")
        print("the end", end="")
        return dist.get_rank(), x

    results = launch(add, ranks=3, args=(4,))
    assert [rank for rank, _ in results] == [0, 1, 2]
    assert all(torch.equal(x, torch.full((4,), 33.0)) for _, x in results)
    out = capfd.readouterr().out.splitlines()
    marked = sorted(line for line in out if "I am" in line)
    assert marked == [f"[rank {r}] I am {r}" for r in range(3)]
    assert sum("from below Python" in line for line in out) == 3
    assert sorted(out[-3:]) == [f"[rank {r}] the end" for r in range(3)]
    why = [line for line in out if "ranks over" in line]
    assert why == ["[rank 0] [ranks] 3 ranks over gloo: there is no GPU here"]


def raises():
    if dist.get_rank() == 1:
        raise KeyError("no such layer")
    dist.barrier()


def one(end, *arguments):
    if dist.get_rank() == 1:
        end(*arguments)
    dist.barrier()


def takes_a_short_buffer():
    dist.recv(torch.ones(4), 0) if dist.get_rank() else dist.send(torch.ones(8), 1)


class Bad(Exception):
    """Neither its text nor its copy can be had."""

    def __reduce__(self):
        return eval, ("1 / 0",)

    def __str__(self):
        raise RuntimeError


def returns_too_much():
    import helpers.ranks.worker

    helpers.ranks.worker.LARGEST = 1000
    return torch.ones(2000)


def raises_without_words():
    raise Bad


def has_a_cause_that_comes_late():
    if dist.get_rank() == 1:
        dist.destroy_process_group()
        time.sleep(1.5)
        raise ConnectionRefusedError("this is why")
    dist.recv(torch.ones(1), 1)


def returns_before_its_partner():
    if dist.get_rank() == 0:
        work = dist.irecv(torch.ones(1), 1)
        dist.barrier()
        work.wait()
    else:
        dist.barrier()
        dist.destroy_process_group()


AT = f"at line {raises.__code__.co_firstlineno + 2} of test_launch.py, in raises"
SILENT = "rank 1 ended without a word: "


@pytest.mark.parametrize(
    ("program", "ranks", "words"),
    [
        (raises, 3, [f"rank 1 failed first {AT}: KeyError: 'no such layer'", "(ranks 0 and 2 wer"]),
        (raises, 2, ['    raise KeyError("no such layer")\n  (rank 0 was stopped)']),
        (lambda: sys.exit(), 1, ["rank 0 ended itself at line", ", with exit status 0:"]),
        (lambda: sys.exit("no data"), 1, ["in <lambda>: no data"]),
        (lambda: one(os._exit, 7), 2, [f"{SILENT}its process ended itself with exit status 7"]),
        (lambda: one(signal.raise_signal, 9), 2, [f"{SILENT}it was ended by SIGKILL"]),
        (takes_a_short_buffer, 2, ["by SIGABRT", "checked=True, or --checked, says which"]),
        (lambda: Bad(), 1, ["rank 0 came back, but can't be unpickled here (Zero"]),
        (threading.Lock, 1, ["the result, a lock, cannot be sent back"]),
        (returns_too_much, 1, ["the result of rank 0, a Tensor, takes 0 MB, and at ", "to a file"]),
        (raises_without_words, 1, ["Bad: (no text"]),
        (has_a_cause_that_comes_late, 2, ["rank 1 failed first", "Error: this is why"]),
        (returns_before_its_partner, 2, ["rank 0 lost its partner at", "rank 1 had returned alre"]),
        (lambda: launch(len), 1, ["runs inside rank 0 already, and a rank cannot start ranks"]),
    ],
)
def test_what_is_said_of_a_rank_that_fails(program, ranks, words):
    report = launch(program, ranks, timeout=60, on_error="report", quiet=True, checked=False)
    assert not report.ok and all(each in str(report) for each in words), report
    assert "rank 1 was stopped" not in str(report), "it failed, or had returned"
    assert report.results == [None] * ranks


def test_a_flood_of_text_is_cut_and_said(capfd):
    def flood():
        for _ in range(300):
            sys.stdout.write("x" * 99_999 + "\n")
        print("the end")

    report = launch(flood, ranks=2, on_error="report")
    shown = capfd.readouterr().out
    assert report.ok
    assert shown.count("has printed more than 1,000,000 characters") == 2
    assert len(shown) < 2_100_000
    assert all("characters left out]" in text for text in report.texts)
    assert all("xxx" in text[:500] and text.endswith("the end\n") for text in report.texts)
    assert all(len(text) < 5_000_000 for text in report.texts)


def shown(ranks: int, *pieces: tuple[int, bytes]) -> str:
    written = []
    output = Output(ranks, written.append)
    for rank, data in pieces:
        output.add(rank, data)
    for rank in range(ranks):
        output.add(rank, b"", final=True)
    return "".join(written)


BARS = [(0, b"\r10 % of it"), (1, b"\r11 %"), (0, b"\r20 %"), (1, b"\r21 %"), (0, b"\r")]
LEFT_OVER = "[rank 0] 10 % of it\r[rank 0] 20 %      \r[rank 1] hi  \n[rank 0] ok\n"


@pytest.mark.parametrize(
    ("ranks", "pieces", "text"),
    [
        (2, [(0, b"one "), (1, b"uno\n"), (0, b"two\n")], "[rank 1] uno\n[rank 0] one two\n"),
        (1, [(0, b"loss 3.2\n")], "loss 3.2\n"),  # one rank needs no mark
        (2, [(1, b"no end")], "[rank 1] no end\n"),
        (2, [(0, b"\xc3"), (0, b"\x9f\n")], "[rank 0] \u00df\n"),  # a letter cut in two by the pipe
        (2, [(0, b"\xff\xfe\n")], "[rank 0] \\xff\\xfe\n"),
        (2, [(0, b"1 %\r2 %\r"), (0, b"done\n")], "[rank 0] 1 %\r[rank 0] 2 %\r[rank 0] done\n"),
        # As tqdm writes: of two bars one is shown, and under the next line nothing of it is left.
        (2, [*BARS, (1, b"\rhi\n"), (0, b"ok\n")], LEFT_OVER),
        (
            2,
            [(1, b"\r 50 %"), (1, b"\r100 %\n")],
            "[rank 1]  50 %\r[rank 1] 100 %\n",
        ),  # the end stays
    ],
)
def test_whole_lines_are_shown_with_their_mark(ranks, pieces, text):
    assert shown(ranks, *pieces) == text


def test_wrong_arguments_and_what_cannot_be_sent_are_named():
    for start in (lambda **w: launch(print, **w), lambda **w: run_script(__file__, **w)):
        for ranks in (0, 65, 2.5):
            assert f"a whole number from 1 to 64, not {ranks}" in said(start, ranks=ranks)
        for timeout in (0, float("nan"), float("inf"), True, "3"):
            words = f"a number of seconds above 0, not {timeout!r}"
            assert words in said(start, timeout=timeout)
    for name, known in {"on_error": "'raise' or 'report'", "backend": "one of auto, gloo"}.items():
        assert f"{name} must be {known}" in said(launch, print, **{name: "ignore"})
    lock = threading.Lock()
    with open(os.devnull, "w") as file:
        opened = r"^<lambda>\(\) cannot be sent to.*it uses 'file': it is an open file \('.*'\); op"
        for function, arguments, words in (
            (lambda: file, (), opened),
            (lambda: lock, (), "uses 'lock': it is a lock, which means nothing in another"),
            (print, ((n for n in range(3)),), r"^argument 1 of print\(\) cannot be sent"),
            (None, (), r"^launch\(\) needs a function, not None: write"),
        ):
            assert re.search(words, said(launch, function, args=arguments, error=CannotSend))


def who():
    found = os.environ.get("LEFT_BEHIND"), os.environ.get("SET_LATE")
    os.environ["LEFT_BEHIND"] = "yes"
    return found, os.getpid(), random.random(), numpy.random.rand()


def test_ranks_are_copies_of_one_process_and_nothing_survives_in_it(monkeypatch):
    one, two = launch(who, ranks=2, quiet=True)
    monkeypatch.setenv("SET_LATE", "after the server was started")
    (three,) = launch(who, ranks=1, quiet=True)
    assert three[0] == (None, "after the server was started")
    assert all(len(set(values)) == 3 for values in zip(one[1:], two[1:], three[1:], strict=True))


def sum_of_ranks(start, launcher):
    x = torch.tensor([float(start + dist.get_rank())])
    dist.all_reduce(x)
    return x.item(), os.getppid() == launcher


@pytest.mark.slow_for("0")
@pytest.mark.parametrize("fork", ["", "0"])
def test_two_launches_at_once_also_without_fork(fork, monkeypatch):
    monkeypatch.setenv("LAB_FORK", fork)
    with ThreadPoolExecutor(2) as pool:
        both = pool.map(lambda n: launch(sum_of_ranks, 2, (n, os.getpid()), quiet=True), (0, 10))
    spawned = fork == "0" or sys.platform != "linux"
    assert [*both] == [[(1.0, spawned)] * 2, [(21.0, spawned)] * 2]


def server() -> int | None:
    return multiprocessing.forkserver._forkserver._forkserver_pid


@FORKS
@pytest.mark.slow
def test_a_server_that_has_died_is_replaced_and_one_that_rests_ends(monkeypatch):
    keep_warm(1)
    died = server()
    os.kill(died, signal.SIGKILL)
    os.waitid(os.P_PID, died, os.WEXITED | os.WNOWAIT)
    monkeypatch.setattr(pool, "REST_S", 0.5)
    assert len(launch(who, ranks=2, quiet=True)) == 2
    rested, end = server(), time.monotonic() + 60
    assert rested not in (None, died)
    while server() is not None and time.monotonic() < end:
        time.sleep(0.1)
    assert server() is None
    with pytest.raises(ProcessLookupError):
        os.kill(rested, 0)
    assert len(launch(who, ranks=1, quiet=True)) == 1


ASKED_FOR = """
import atexit, os, weakref
atexit.register(print, "forgotten")
class Kept: pass
kept, imported_by = [Kept(), Kept()], os.getpid()
weakref.finalize(kept[0], print, "forgotten too")
"""


@FORKS
@pytest.mark.slow
def test_modules_are_imported_once_for_all_ranks_which_end_as_python_does(tmp_path, monkeypatch):
    def program():
        import asked_for

        atexit.register(print, "handler")
        weakref.finalize(asked_for.kept[1], print, "finalizer")
        threading.Thread(target=lambda: (time.sleep(0.2), print("thread"))).start()
        return asked_for.imported_by == os.getppid()

    (tmp_path / "asked_for.py").write_text(ASKED_FOR)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    keep_warm(1, imports=["asked_for"])
    report = launch(program, 2, on_error="report", quiet=True)
    assert report.results == [True, True]
    assert report.texts == ["thread\nfinalizer\nhandler\n"] * 2


def test_a_rank_that_ends_after_its_result_fails_nobody():
    def program():
        alarm = threading.Timer(0.2, os._exit, (0,))
        alarm.daemon = True
        time.sleep(1.5) if dist.get_rank() else alarm.start()
        return dist.get_rank()

    assert launch(program, 2, quiet=True) == [0, 1]


def fails():
    subprocess.Popen(["sleep", "600"])
    raise ValueError("on purpose")


@FORKS
@pytest.mark.slow
def test_launch_after_launch_nothing_is_left():
    def left() -> tuple[int, int]:
        ended = [int(each.split("_")[1]) for each in os.listdir("/dev/shm") if "torch_" in each]
        return len(os.listdir("/proc/self/fd")), sum(not os.path.isdir(f"/proc/{n}") for n in ended)

    launch(who, ranks=2, quiet=True)
    files, shared = left()
    for _ in range(5):
        launch(who, ranks=2, quiet=True)
        with pytest.raises(RankFailed, match="failed first at line .*: ValueError: on purpose"):
            launch(fails, ranks=2, quiet=True)
    assert left() <= (files + 2, shared)


@FORKS
@pytest.mark.slow
def test_a_long_folder_for_temporary_files_is_no_obstacle(tmp_path):
    code = "import os; from helpers.ranks import launch; print(launch(os.getppid, 2, quiet=True))"
    (folder := tmp_path / ("long" * 20)).mkdir()
    environ = os.environ | {"TMPDIR": str(folder)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environ)
    assert done.stdout.startswith("["), done.stderr
