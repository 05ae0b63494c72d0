"""What is said around a hang, what is recorded, and what checked mode leaves behind."""

import inspect
from pathlib import Path

import pytest
import torch
import torch.distributed as dist

from helpers.draw import who_waits
from helpers.hang.calls import METHODS
from helpers.hang.monitor import NoSuchRank, the_monitor
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


def names_ranks_that_it_cannot_reach():
    """On each of two ranks: what its calls are refused with."""
    x, rank = torch.ones(2), dist.get_rank()
    mine = [dist.new_group([each]) for each in range(2)][rank]
    calls = [
        lambda: dist.reduce(x, dst=-1),
        lambda: dist.isend(x, rank),
        lambda: dist.irecv(x, rank),
        lambda: dist.send_object_list([1], 9),
        lambda: dist.gather_object(1, [None], dst=1 - rank, group=mine),
    ]
    said = []
    for call in calls:
        with pytest.raises(NoSuchRank) as error:
            call()
        said.append(str(error.value))
    return said


def test_a_rank_that_a_call_names_and_cannot_reach():
    for rank, said in enumerate(launch(names_ranks_that_it_cannot_reach, 2, quiet=True)):
        facts = [
            "calls reduce to rank -1, but the ranks are 0 to 1: name one of these",
            "sends to itself, which torch.distributed can't do",
            "receives from itself",
            "sends to rank 9",
            f"calls gather_object to rank {1 - rank}, but its group holds rank {rank}: name one",
        ]
        for sentence, fact in zip(said, facts, strict=True):
            assert sentence.startswith(f"rank {rank} {fact}"), sentence
    report = launch(hangs.nobody_sends, 1, timeout=60, on_error="report", quiet=True)
    assert "there is only rank 0: start more ranks" in report.failure.sentence


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


def fill_the_store():
    store = dist.distributed_c10d._get_default_store()
    x, other = torch.ones(2), 1 - dist.get_rank()
    for _ in range(200):
        dist.all_reduce(x)
        work = dist.isend(x, other)
        dist.recv(x.clone(), other)
        work.wait()
    return store.num_keys()


def test_notes_are_cleared_away():
    assert launch(fill_the_store, 2, timeout=60, quiet=True)[0] < 100
