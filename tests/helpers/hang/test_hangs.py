"""Hangs that the table of lines (test_hang_lines.py) has no letters for, and how each is told.

Every program runs on real processes; what is compared are the words that a student reads.
"""

import contextlib
import inspect
import threading
import time
from datetime import timedelta
from pathlib import Path

import pytest
import torch
import torch.distributed as dist

from helpers.draw.waits import who_waits
from helpers.hang.cases import whom
from helpers.hang.monitor import METHODS, the_monitor
from helpers.hang.operation import Operation
from helpers.ranks import launch, supervisor

pytestmark = pytest.mark.ranks

ROOT = Path(__file__).resolve().parents[3]


def told(program, ranks=2, checked=True, timeout=60) -> str:
    how = {"timeout": timeout, "on_error": "report", "quiet": True, "checked": checked}
    report = launch(program, ranks, **how)
    assert not report.ok
    return str(report)


def both_send_first():
    x, other = torch.ones(4), 1 - dist.get_rank()
    dist.send(x, other)
    dist.recv(x, other)


def both_receive_first():
    x, other = torch.ones(4), 1 - dist.get_rank()
    dist.recv(x, other)
    dist.send(x, other)


def asks_for_ever_about_several():
    other = 1 - dist.get_rank()
    works = [dist.irecv(torch.ones(4), other, tag=tag) for tag in range(2)]
    while not all(work.is_completed() for work in works):
        pass


def a_local_group_after_unequal_counts():
    if dist.get_rank() == 2:
        dist.new_group([2], use_local_synchronization=True)
    if dist.get_rank() != 1:
        dist.new_group([0, 2], use_local_synchronization=True)


# Pages that quote a report's first line.
QUOTED = {
    both_send_first: ("README.md", "tools/pages/assets/front.html"),
    both_receive_first: ("jobs/README.md",),
}


@pytest.mark.parametrize("program", QUOTED)
def test_pages_quote_the_words_of_today_and_a_report_has_a_picture(program):
    report = launch(program, 2, timeout=60, on_error="report", quiet=True)
    assert who_waits(report.failure.waits).alt.startswith("Who waits for whom.")
    for page in QUOTED[program]:
        text = (ROOT / page).read_text(encoding="utf-8")
        assert str(report).splitlines()[0] in text, f"{page} quotes older words"


def test_a_loop_that_asks_about_several_waits():
    said = told(asks_for_ever_about_several, checked=False)
    assert said.startswith("deadlock: ") and ".is_completed()" in said


def test_a_local_group_whose_ranks_are_in_unequally_many():
    said = told(a_local_group_after_unequal_counts, 3).splitlines()[0]
    assert "has made 0 groups before" in said and "has made 1 group before" in said


def test_an_unchecked_group_waits_for_its_members_alone():
    """torch does not wait for the others, so neither may a verdict."""

    def program():
        rank = dist.get_rank()
        if rank == 2:
            dist.recv(torch.ones(1), 0)
        if rank == 1:
            time.sleep(1.0)
        dist.new_group([0, 1])
        if rank == 0:
            dist.send(torch.ones(1), 2)
        return "done"

    assert launch(program, 3, timeout=60, quiet=True, checked=False) == ["done"] * 3


def test_a_group_is_named_once():
    def program():
        groups = [dist.new_group([0, 1]) for _ in range(2)]
        for group in groups[:: 1 - 2 * dist.get_rank()]:
            dist.all_reduce(torch.ones(1), group=group)

    said = launch(program, 2, timeout=60, on_error="report", quiet=True).failure.sentence
    assert said.count("in the group of") == 2, said  # of two ranks


def test_an_unchecked_reduce_scatter_of_different_parts_is_told():
    def program():
        two, three = torch.ones(2), torch.ones(3)
        dist.reduce_scatter(torch.zeros(2), [two, two if dist.get_rank() else three])

    report = launch(program, 2, timeout=30, on_error="report", quiet=True, checked=False)
    said = str(report)
    assert said.startswith("the parts of a collective have different sizes: rank 0 calls"), said
    assert "with 3 numbers for rank 1, which takes 2" in said, said


def test_ranks_that_compute_are_not_stuck():
    """One computes for much longer than the judge waits, while the others wait for it."""

    def slow():
        if dist.get_rank() == 0:
            time.sleep(1.0)
        dist.all_reduce(torch.ones(3))
        return "done"

    assert launch(slow, 3, timeout=30, quiet=True) == ["done"] * 3


@pytest.mark.slow
def test_after_the_timeout_the_diagnosis_says_what_is_known():
    def slow():
        if dist.get_rank() == 0:
            time.sleep(60)
        dist.barrier()

    report = launch(slow, 2, timeout=4, on_error="report", quiet=True)
    said = str(report)
    assert said.startswith("the ranks did not finish within 4 s, and were stopped: rank 1 waits")
    assert "rank 0 is at work at line" in said and "time.sleep(60)" in said
    assert "give the launch more time" in said


def test_a_progress_bar_does_not_silence_its_rank():
    """tqdm starts a thread of its own, which sends nothing."""

    def program():
        import io

        import tqdm

        tqdm.tqdm(total=3, file=io.StringIO()).update()
        if dist.get_rank() == 0:
            dist.barrier()

    said = told(program).splitlines()[0]
    assert " left early: " in said and "while rank 0 calls barrier" in said


@pytest.mark.parametrize("checked", [True, False], ids=["checked", "unchecked"])
def test_an_isend_whose_work_is_dropped_does_not_silence_its_rank(checked):
    """gloo would wait in the destructor, and nobody could say for what."""

    def program():
        x, other = torch.ones(4), 1 - dist.get_rank()
        if dist.get_rank() == 0:
            dist.isend(x, other)
        dist.recv(x, other, tag=7)

    said = told(program, checked=checked)
    assert "receives 4 float32 from rank 1 with tag 7" in said and "did not answer" not in said


def test_a_message_after_a_time_limit_that_passed_is_told_in_one_sentence():
    """gloo closes a connection on which a wait has run out of time."""

    def program():
        if dist.get_rank():
            time.sleep(30)
        work = dist.isend(torch.ones(2_000_000), 1)
        with contextlib.suppress(RuntimeError):
            work.wait(timedelta(seconds=0.1))
        dist.send(torch.ones(1), 1, tag=2)

    said = told(program, checked=False, timeout=20).splitlines()[0]
    assert "rank 0 failed first" in said and "pair closure" not in said, said
    assert "rank 0 sends 1 float32 to rank 1 with tag 2" in said, said
    assert "wait() without a time limit" in said, said


# --- no proof, no verdict ------------------------------------------------------------------------


def threads_that_could_free_each_other():
    def receive():
        dist.recv(torch.ones(1), 1 - dist.get_rank())

    if dist.get_rank():
        receive()
    threads = [threading.Thread(target=receive) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@pytest.mark.slow
def test_threads_are_told_at_the_time_limit_and_before_where_each_rank_stands(capfd, monkeypatch):
    monkeypatch.setattr(supervisor, "NOTE_S", 1.0)
    how = {"timeout": 4, "on_error": "report"}
    said = str(launch(threads_that_could_free_each_other, 2, **how))
    assert said.startswith("the ranks did not finish within 4 s")
    assert said.count("receives 1 float32 from rank 1 at line") == 2, said
    assert "thread.join()" in said and "has other threads" in said
    noted = capfd.readouterr().out
    assert noted.count("[ranks] nothing has moved for 1 s. Where each rank stands:") == 1
    assert "  rank 1 receives 1 float32 from rank 0 at line" in noted


@pytest.mark.parametrize(
    ("name", "peer", "words"),
    [
        ("recv", 2, "rank 2"),
        ("recv", None, "one of ranks 1 and 2"),
        ("broadcast", 2, "one of ranks 1 and 2"),
    ],
)
def test_whom_a_long_wait_is_for(name, peer, words):
    assert whom(Operation(name, 0, peer, members=(0, 1, 2))) == words


# --- what is recorded ----------------------------------------------------------------------------


def leave_one():
    if dist.get_rank() == 1:
        for _ in range(3):
            dist.recv(torch.empty(2), 0)
        return []
    dist.isend(torch.ones(2), 1).wait()
    dist.send(torch.ones(2), 1)
    (work,) = dist.batch_isend_irecv([dist.P2POp(dist.isend, torch.ones(2), 1)])
    left = [(operation.name, operation.peer) for operation in the_monitor().not_waited_for()]
    work.wait()
    return [left, the_monitor().not_waited_for()]


def test_a_message_that_nobody_waits_for_is_known():
    assert launch(leave_one, 2, quiet=True)[0] == [[("isend", 1)], []]


def test_no_method_of_a_group_that_gives_a_work_goes_unrecorded():
    """Torch 2.13 renamed two of them, and a hang under fully_shard couldn't be explained."""
    methods = {
        name: getattr(dist.ProcessGroup, name)
        for name in dir(dist.ProcessGroup)
        if "-> torch._C._distributed_c10d.Work" in (getattr(dist.ProcessGroup, name).__doc__ or "")
    }
    given = {inspect.unwrap(method).__name__ for method in methods.values()}
    several = {name for name in given - set(METHODS) if not name.endswith("_coalesced")}
    assert several <= {"_end_coalescing"}, "several at once are seen by torch's own recorder alone"
