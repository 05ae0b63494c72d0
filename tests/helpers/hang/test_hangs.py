"""Real ranks that deadlock: each case ends, says who waits for whom at which line, and the cure.

Every program runs on real processes; what is compared are the words that a student reads.
"""

import time
from pathlib import Path

import pytest
import torch
import torch.distributed as dist

from helpers.draw import who_waits
from helpers.hang.diagnosis import diagnose
from helpers.hang.log import Standing
from helpers.hang.operation import Operation
from helpers.hang.wait_for_graph import GlobalSnapshot
from helpers.ranks import launch

pytestmark = pytest.mark.ranks

ROOT = Path(__file__).resolve().parents[3]


def both_send_first():
    x, other = torch.ones(4), 1 - dist.get_rank()
    dist.send(x, other)
    dist.recv(x, other)


def ring_of_sends():
    x, rank, size = torch.ones(4), dist.get_rank(), dist.get_world_size()
    dist.send(x, (rank + 1) % size)
    dist.recv(x, (rank - 1) % size)


def both_receive_first():
    x, other = torch.ones(4), 1 - dist.get_rank()
    dist.recv(x, other)
    dist.send(x, other)


def nobody_sends():
    if dist.get_rank() == 0:
        dist.recv(torch.ones(2, 3), 1)


def sends_in_a_branch_that_is_not_taken():
    x = torch.ones(4)
    if dist.get_rank() == 0:
        dist.recv(x, 1)
    dist.barrier()
    if dist.get_rank() == 1:
        dist.send(x, 0)


def crossed_tags():
    x = torch.ones(4)
    if dist.get_rank() == 0:
        dist.send(x, 1, tag=1)
    else:
        dist.recv(x, 0, tag=2)


def waits_for_an_isend_that_nobody_receives():
    x = torch.ones(4)
    if dist.get_rank() == 0:
        work = dist.isend(x, 1)
        work.wait()
    dist.barrier()


def leaves_early():
    for _ in range(3 + (dist.get_rank() == 0)):
        dist.all_reduce(torch.ones(3))


def skips_a_step():
    pair, x = dist.new_group([0, 1]), torch.ones(3)
    for step in range(4):
        if step == 2 and dist.get_rank() == 1:
            continue
        dist.all_reduce(x, group=pair)
    if dist.get_rank() == 1:
        dist.recv(x, 0)
    else:
        dist.send(x, 1)


def groups_in_another_order():
    rank = dist.get_rank()
    pairs = [dist.new_group(pair) for pair in ([0, 1], [1, 2], [0, 2])]
    order = {0: [0, 2], 1: [1, 0], 2: [2, 1]}[rank]
    for number in order:
        dist.all_reduce(torch.ones(2), group=pairs[number])


def a_member_does_not_come():
    group = dist.new_group([0, 1])
    if dist.get_rank() == 0:
        dist.all_reduce(torch.ones(2), group=group)


def only_members_make_the_group():
    if dist.get_rank() == 0:
        dist.new_group([0, 1])


def receives_from_anybody():
    x = torch.ones(4)
    if dist.get_rank() == 0:
        dist.recv(x)


def receives_from_anybody_what_it_has_taken():
    x = torch.ones(4)
    if dist.get_rank() == 1:
        dist.send(x, 0)
    else:
        dist.recv(x, 1)
        dist.recv(x)


def crossed_tags_later():
    rank, other = dist.get_rank(), 1 - dist.get_rank()
    works = [dist.isend(torch.ones(4), other, tag=rank), dist.irecv(torch.ones(4), other, tag=rank)]
    for work in works:
        work.wait()


def crossed_tags_in_a_batch():
    rank, other = dist.get_rank(), 1 - dist.get_rank()
    send = dist.P2POp(dist.isend, torch.ones(4), other, tag=rank)
    receive = dist.P2POp(dist.irecv, torch.ones(4), other, tag=rank)
    for work in dist.batch_isend_irecv([send, receive]):
        work.wait()


def asks_for_ever():
    if dist.get_rank() == 0:
        work = dist.all_reduce(torch.ones(4), async_op=True)
        while not work.is_completed():
            time.sleep(0.01)
    else:
        dist.recv(torch.ones(4), 0)


def asks_for_ever_about_several():
    other = 1 - dist.get_rank()
    works = [dist.irecv(torch.ones(4), other, tag=tag) for tag in range(2)]
    while not all(work.is_completed() for work in works):
        pass


def a_local_group_that_one_misses():
    if dist.get_rank() == 0:
        dist.new_group([0, 1], use_local_synchronization=True)
    elif dist.get_rank() == 1:
        dist.recv(torch.ones(4), 0)


def a_local_group_after_unequal_counts():
    if dist.get_rank() == 2:
        dist.new_group([2], use_local_synchronization=True)
    if dist.get_rank() != 1:
        dist.new_group([0, 2], use_local_synchronization=True)


HANGS = [
    (both_send_first, 2, "ranks 0 and 1 both send first", "isend"),
    (ring_of_sends, 3, "a ring of sends. Ranks 0, 1 and 2 all send first", "every second rank"),
    (both_receive_first, 2, "ranks 0 and 1 both receive first", "let one of them send first"),
    (nobody_sends, 2, "rank 0 receives 2x3 float32 from rank 1 at line", "let rank 1 send it"),
    (sends_in_a_branch_that_is_not_taken, 2, "while rank 1 calls barrier at line", "before all"),
    (crossed_tags, 2, "rank 0 sends to rank 1 with tag 1", "the same tag on both sides"),
    (waits_for_an_isend_that_nobody_receives, 2, "sends 4 float32 to rank 1 (isend)", "collective"),
    (
        leaves_early,
        3,
        "finished already, while rank 0 calls all_red",  # one of them may still be ending
        "often",
    ),
    (skips_a_step, 2, "where rank 1 has been 3 times only; rank 1 receives 3", "continue, a break"),
    (groups_in_another_order, 3, "collectives of their groups in different orders", "same order"),
    (a_member_does_not_come, 2, "rank 1 left early", "every rank of the group must call it"),
    (
        only_members_make_the_group,
        2,
        "rank 0 is in dist.new_group (ranks 0, 1)",
        "also the ranks that do not",
    ),
    (crossed_tags_later, 2, "and rank 1 receives with tag 1 at line", "the same tag on both"),
    (crossed_tags_in_a_batch, 2, "and rank 1 receives with tag 1 at line", "the same tag"),
    (a_local_group_that_one_misses, 3, "but rank 1 never called it", "every member must call"),
    (receives_from_anybody, 2, "from any rank", "let rank 1 send it"),
    (receives_from_anybody_what_it_has_taken, 2, "from any rank", "let rank 1 send it"),
]


# Pages that quote a report's first line.
QUOTED = {
    both_send_first: ("README.md", "tools/pages/assets/front.html"),
    both_receive_first: ("jobs/README.md",),
}


@pytest.mark.slow_for("unchecked")
@pytest.mark.parametrize(("program", "ranks", "sentence", "cure"), HANGS)
@pytest.mark.parametrize("checked", [True, False], ids=["checked", "unchecked"])
def test_a_hang_is_told(program, ranks, sentence, cure, checked):
    report = launch(program, ranks, timeout=30, on_error="report", quiet=True, checked=checked)
    said = str(report)
    assert sentence in said.splitlines()[0], said
    assert cure in said.split("Cure: ")[1], said
    assert "did not finish within" not in said, "it was proven, not waited for"
    source = [line.split("| ")[1].strip() for line in said.splitlines() if " | " in line]
    assert any("dist." in line or ".wait()" in line for line in source), said
    assert who_waits(report.failure.waits).alt.startswith("Who waits for whom.")
    for page in QUOTED.get(program, ()):
        text = (ROOT / page).read_text(encoding="utf-8")
        assert said.splitlines()[0] in text, f"{page} quotes older words"


@pytest.mark.parametrize(
    ("program", "checked"), [(asks_for_ever, True), (asks_for_ever_about_several, False)]
)
def test_a_loop_that_only_asks_waits(program, checked):
    report = launch(program, 2, timeout=60, on_error="report", quiet=True, checked=checked)
    assert report.failure.sentence.startswith("deadlock: "), report
    assert ".is_completed()" in str(report)


def test_a_local_group_whose_ranks_are_in_unequally_many():
    how = {"timeout": 60, "on_error": "report", "quiet": True}
    said = launch(a_local_group_after_unequal_counts, 3, **how).failure.sentence
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


@pytest.mark.parametrize("name", ["scatter", "all_to_all", "all_to_all_single"])
def test_an_unchecked_hang_is_told_by_the_sizes_of_its_parts(name):
    """gloo mostly aborts there and NCCL hangs, so the standings are written down here."""
    standings = []
    for rank, gives in enumerate([(2, 3), (2, 2)]):
        gives = gives if name != "scatter" or rank == 0 else ()
        place = ("train.py", 4 + rank, "step")
        operation = Operation(
            name, rank, members=(0, 1), dtype="float32", place=place, gives=gives, takes=(2, 2)
        )
        collectives, posted = {operation.group: [operation]}, {operation.channel: 1}
        standings.append(Standing(rank, operation, place, posted, collectives))
    found = diagnose(GlobalSnapshot(standings))
    assert found.certain and f"rank 0 calls {name}" in found.sentence, found
    assert "line 4 of train.py, in step, with 3 numbers for rank 1, which takes 2" in found.sentence
    assert found.cure.startswith("Each part must be as large as the rank that takes it expects")


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


def test_a_thread_that_will_send_is_waited_for():
    import threading

    def late():
        x = torch.full((2,), 5.0)
        if dist.get_rank() == 1:
            dist.recv(x, 0)
            return x.tolist()
        send = threading.Timer(1.0, dist.send, (x, 1))
        send.start()
        send.join()
        return None

    assert launch(late, 2, timeout=30, quiet=True) == [None, [5.0, 5.0]]


def with_a_progress_bar():
    """tqdm starts a thread of its own, which sends nothing."""
    import io

    import tqdm

    tqdm.tqdm(total=3, file=io.StringIO()).update()
    leaves_early()


def test_a_progress_bar_does_not_silence_its_rank():
    report = launch(with_a_progress_bar, 3, timeout=60, on_error="report", quiet=True)
    said = report.failure.sentence
    assert " left early: " in said and "while rank 0 calls all_red" in said, said


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


def ddp(batches: list[int]):
    torch.manual_seed(0)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(3, 2))
    for _ in range(batches[dist.get_rank()]):
        model(torch.ones(4, 3)).sum().backward()


def test_an_all_reduce_that_starts_inside_cpp():
    """DDP: one rank has a batch more than the other, and waits in backward for ever."""
    # The first model of DDP imports a compiler, which takes long on a busy machine.
    report = launch(ddp, 2, ([2, 3],), timeout=240, on_error="report", quiet=True)
    said = str(report)
    assert "rank 0 left early" in said.splitlines()[0], said
    # Its size says which bucket it is: 3 x 2 weights and 2 biases.
    assert "C++ all_reduce of 8 float32, started inside C++ by line" in said, said
    assert ".sum().backward()" in said, said


@pytest.mark.parametrize("checked", [True, False], ids=["checked", "unchecked"])
def test_an_isend_whose_work_is_dropped_does_not_silence_its_rank(checked):
    """gloo would wait in the destructor, and nobody could say for what."""

    def program():
        x, other = torch.ones(4), 1 - dist.get_rank()
        if dist.get_rank() == 0:
            dist.isend(x, other)
        dist.recv(x, other, tag=7)

    report = launch(program, 2, timeout=30, on_error="report", quiet=True, checked=checked)
    said = str(report)
    assert "receives 4 float32 from rank 1 with tag 7" in said, said
    assert "did not answer" not in said, said
