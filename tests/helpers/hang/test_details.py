"""What is said around a hang, what is recorded, and what checked mode leaves behind."""

import inspect
from pathlib import Path

import pytest
import torch
import torch.distributed as dist

from helpers.draw import who_waits
from helpers.hang.calls import METHODS
from helpers.hang.monitor import the_monitor
from helpers.ranks import launch, supervisor
from tests.frozen import hangs

pytestmark = pytest.mark.ranks

ROOT = Path(__file__).resolve().parents[3]
QUOTED = {  # pages that quote a report's first line
    hangs.both_send_first: ("README.md", "site/index.md"),
    hangs.both_receive_first: ("jobs/README.md",),
}


@pytest.mark.parametrize("program", QUOTED)
def test_pages_quote_the_words_of_today_and_a_report_has_a_picture(program):
    report = launch(program, 2, timeout=60, on_error="report", quiet=True)
    assert who_waits(report.failure.waits).alt.startswith("Who waits for whom.")
    for page in QUOTED[program]:
        text = (ROOT / page).read_text(encoding="utf-8")
        assert str(report).splitlines()[0] in text, f"{page} quotes older words"


@pytest.mark.slow
def test_without_proof_the_rows_are_shown_and_a_verdict_waits_for_the_limit(capfd, monkeypatch):
    monkeypatch.setattr(supervisor, "NOTE_S", 1.0)
    said = str(launch(hangs.threads_that_could_free_each_other, 2, timeout=4, on_error="report"))
    assert said.startswith("the ranks did not finish within 4 s")
    assert said.count("receives 1 float32 from rank 1 at line") == 2, said
    assert "thread.join()" in said and "has other threads" in said
    noted = capfd.readouterr().out
    assert noted.count("[ranks] nothing has moved for 1 s. Where each rank stands:") == 1
    assert "  rank 1 receives 1 float32 from rank 0 at line" in noted


def calls_that_leave_something():
    """On each of two ranks: what nobody waits for, before and after, and how much is stored."""
    x, other, left = torch.ones(2), 1 - dist.get_rank(), the_monitor().not_waited_for
    for _ in range(200):
        dist.all_reduce(x)
        works = dist.batch_isend_irecv([dist.P2POp(dist.isend, x, other)])
        works += [dist.isend(x, other)]
        for _ in range(2):
            dist.recv(x.clone(), other)
        before = [(operation.name, operation.peer == other) for operation in left()]
        for work in works:
            work.wait()
    return before, left(), dist.distributed_c10d._get_default_store().num_keys()


def test_what_nobody_waits_for_is_known_and_notes_are_cleared_away():
    for before, after, keys in launch(calls_that_leave_something, 2, timeout=60, quiet=True):
        assert (before, after) == ([("isend", True)] * 2, []) and keys < 100


def test_no_method_of_a_group_that_gives_a_work_goes_unrecorded():
    """Torch 2.13 renamed two of them, and a hang under fully_shard couldn't be explained."""
    group = {name: getattr(dist.ProcessGroup, name) for name in dir(dist.ProcessGroup)}
    work = "-> torch._C._distributed_c10d.Work"
    given = {inspect.unwrap(m).__name__ for m in group.values() if work in (m.__doc__ or "")}
    unseen = {name for name in given - set(METHODS) if not name.endswith("_coalesced")}
    assert unseen <= {"_end_coalescing"}, "several at once are seen by torch's own recorder alone"
