"""Real ranks, from a function: results, output, failures, and nothing left behind."""

import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest
import torch
import torch.distributed as dist

from helpers.ranks import RankFailed, launch


def test_results_come_back_in_order_and_output_is_marked(capfd):
    offset = 10.0

    def add(n):
        x = torch.full((n,), dist.get_rank() + offset)
        dist.all_reduce(x)
        print("I am", dist.get_rank())
        os.write(1, b"from below Python\n")
        return dist.get_rank(), x

    results = launch(add, ranks=3, args=(4,))
    assert [rank for rank, _ in results] == [0, 1, 2]
    assert all(torch.equal(x, torch.full((4,), 33.0)) for _, x in results)
    out = capfd.readouterr().out.splitlines()
    assert sorted(line for line in out if "I am" in line) == [
        f"[rank {r}] I am {r}" for r in range(3)
    ]
    assert sum("from below Python" in line for line in out) == 3
    assert any("3 ranks over gloo: there is no GPU here" in line for line in out) or (
        torch.cuda.is_available()
    )


def test_the_first_to_fail_is_named_with_its_line(capfd):
    def train():
        if dist.get_rank() == 1:
            raise KeyError("no such layer")
        dist.barrier()

    with pytest.raises(RankFailed) as caught:
        launch(train, ranks=2)
    line = train.__code__.co_firstlineno + 2
    assert f"rank 1 failed first at line {line} of test_launch.py, in train: KeyError" in str(
        caught.value
    )
    assert 'raise KeyError("no such layer")' in str(caught.value)


def test_a_hang_ends_and_says_where_each_rank_stood():
    def both_send():
        dist.send(torch.ones(1), 1 - dist.get_rank())

    report = launch(both_send, ranks=2, timeout=2, on_error="report", quiet=True)
    assert not report.ok
    text = str(report)
    assert "did not finish within 2 s" in text
    assert text.count("in both_send") == 2
    assert "dist.send(torch.ones(1), 1 - dist.get_rank())" in text


def test_a_rank_that_left_and_one_that_died():
    def leave(how):
        if dist.get_rank() == 0:
            if how == "die":
                os._exit(7)
            return
        dist.recv(torch.ones(1), 0)

    left = launch(leave, ranks=2, args=("return",), timeout=20, on_error="report", quiet=True)
    assert "rank 0 had returned already" in left.failure.sentence
    died = launch(leave, ranks=2, args=("die",), timeout=20, on_error="report", quiet=True)
    assert died.failure.sentence == (
        "rank 0 ended without a word: its process ended itself with exit status 7"
    )


def test_ranks_cannot_start_ranks():
    def outer():
        return launch(len, ranks=2)

    report = launch(outer, ranks=1, on_error="report", quiet=True)
    assert "runs inside rank 0 already, and a rank cannot start ranks" in report.failure.sentence


def test_a_result_that_cannot_be_sent_back():
    def unsendable():
        import threading

        return threading.Lock()

    report = launch(unsendable, ranks=1, on_error="report", quiet=True)
    assert "the result, a lock, cannot be sent back" in report.failure.sentence


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"ranks": 0}, "ranks must be a whole number from 1 to 64, not 0"),
        ({"ranks": 1000}, "ranks must be a whole number from 1 to 64, not 1000"),
        ({"ranks": 2.5}, "not 2.5"),
        ({"timeout": -1}, "timeout must be a number of seconds above 0, not -1"),
        ({"on_error": "ignore"}, "on_error must be 'raise' or 'report'"),
    ],
)
def test_wrong_arguments(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        launch(print, **arguments)


PARENT = textwrap.dedent("""
    import os, signal, time
    from helpers.ranks import launch

    # A shell lets what it starts in the background ignore Ctrl-C: a notebook does not.
    signal.signal(signal.SIGINT, signal.default_int_handler)

    def sleep():
        print("pid", os.getpid(), flush=True)
        time.sleep(600)

    launch(sleep, ranks=2)
""")


@pytest.mark.skipif(os.name != "posix", reason="signals as POSIX has them")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_no_rank_outlives_the_process_that_started_it(how, tmp_path):
    script = tmp_path / "parent.py"
    script.write_text(PARENT)
    parent = subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True)
    pids = []
    while len(pids) < 2:
        line = parent.stdout.readline()
        assert line, "the parent ended too early"
        if "pid" in line:
            pids.append(int(line.split()[-1]))
    parent.send_signal(how)
    parent.wait(timeout=90)
    parent.stdout.close()
    deadline = time.monotonic() + 30
    while any(_alive(pid) for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(_alive(pid) for pid in pids)


def _alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        pass
    if os.path.isdir("/proc/self"):
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
