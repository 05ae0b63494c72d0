"""Checked mode: what gloo would do in silence, or by ending the process, is refused before."""

import time

import pytest
import torch
import torch.distributed as dist

from helpers.ranks import launch

pytestmark = pytest.mark.ranks


def refused(program, ranks: int = 2, *args) -> str:
    """The first line that a student reads."""
    report = launch(program, ranks, args, timeout=30, on_error="report", quiet=True)
    assert report.failure, "nothing was refused"
    return report.failure.sentence


def message(sent, received, how="plain"):
    """Rank 0 sends one tensor, rank 1 receives into another."""
    if dist.get_rank() == 0:
        dist.send(sent, 1) if how == "plain" else dist.isend(sent, 1).wait()
    else:
        dist.recv(received, 0) if how == "plain" else dist.irecv(received, 0).wait()
    return received.tolist()


@pytest.mark.parametrize(
    ("sent", "received", "how", "sentence"),
    [
        (torch.ones(8), torch.ones(4), "plain", "too long: rank 0 sends 8 float32 to rank 1 at l"),
        (torch.ones(4), torch.ones(2, 3), "asynchronous", "too short: rank 0 sends 4 float32 to"),
        (torch.ones(4), torch.ones(4).int(), "plain", "dtype mismatch: rank 0 sends 4 float32"),
        (torch.ones(4), torch.ones(2).double(), "asynchronous", "dtype mismatch: rank 0 sends 4"),
    ],
)
def test_a_message_that_does_not_fit(sent, received, how, sentence):
    said = refused(message, 2, sent, received, how)
    assert sentence in said
    assert "and rank 1 receives" in said and said.count("in message") == 2


def test_an_isend_that_nobody_waits_for_is_refused_too():
    def program():
        x = torch.ones(8)
        if dist.get_rank() == 0:
            dist.isend(x, 1)  # its receive comes later, so a thread looks at it
            time.sleep(30)
        else:
            time.sleep(0.3)
            dist.recv(x[:4], 0)

    assert "message too long" in refused(program)


@pytest.mark.parametrize(
    ("tensor", "checked"),
    [(None, True), (torch.ones(4, 4).t()[1:], False)],
    ids=["None, checked", "strided, unchecked"],
)
def test_what_torch_refuses_is_refused_at_its_line(tensor, checked):
    """Also where the other side is not there yet, and the operation would have to wait."""

    def program():
        if dist.get_rank() == 0:
            dist.isend(tensor, 1)
        dist.recv(torch.ones(1), 1 - dist.get_rank(), tag=3)

    arguments = {"timeout": 30, "on_error": "report", "quiet": True, "checked": checked}
    report = launch(program, 2, **arguments)
    assert report.failure.rank == 0 and "rank 0 failed first at line" in str(report)
    assert "dist.isend(tensor, 1)" in str(report)


def test_a_message_goes_on_while_its_rank_waits_in_a_collective():
    def program():
        x = torch.full((4,), 3.0)
        if dist.get_rank() == 0:
            work = dist.isend(x, 1)  # nobody receives yet
            dist.barrier()
            work.wait()
        else:
            time.sleep(0.3)
            x.zero_()
            dist.recv(x, 0)
            dist.barrier()
        return x.tolist()

    assert launch(program, 2, timeout=30, quiet=True) == [[3.0] * 4] * 2


PARTS = "the parts of a collective have different sizes: rank "
DIFFERENT = {  # what is said of each collective of `ranks_that_differ`
    "names": ("different collectives meet: rank 0 calls all_reduce of 4 fl",),
    "a barrier": ("different collectives meet", "rank 1 calls barrier at line"),
    "sizes": ("the tensors of a collective have different sizes: rank 0",),
    "dtypes": ("have different dtypes: rank 0 calls all_reduce of 4",),
    "sums": ("the ranks disagree about a collective: rank 0 calls all_",),
    "roots": ("(from rank 0) at line",),
    "groups": ("very rank must call dist.new_group",),
    "reduce_scatter": (PARTS, "with 3 numbers for rank 1, which takes 2 at line"),
    "reduce_scatter_tensor": (PARTS, "with 3 numbers for itself and room for 2"),
    "all_gather": (PARTS, "with 2 numbers for rank 0, which takes 3"),
    "all_gather_into_tensor": (PARTS, "with 2 numbers for itself and room for 3"),
    "gather": (PARTS, "with 2 numbers for rank 0, which takes 3"),
    "scatter": (PARTS, "with 3 numbers for rank 1, which takes 2"),
    "all_to_all": (PARTS, "with 3 numbers for rank 1, which takes 2"),
    "all_to_all_single": (PARTS, "with 3 numbers for itself and room for 2"),
    "splits": (PARTS, "calls all_to_all_single (float32) at line"),
    "types of parts": ("(float32) at line", "(int32) at line"),
}


def call_that_differs(name):
    """On each of two ranks: the collective of this name, called in different ways."""
    rank, x, two, three = dist.get_rank(), torch.ones(4), torch.ones(2), torch.ones(3)
    uneven, x_or_5, ints = [two, two if rank else three], torch.ones(4 + rank), torch.ones(4).int()
    calls = {
        "names": lambda: dist.broadcast(x, 0) if rank else dist.all_reduce(x),
        "a barrier": lambda: dist.barrier() if rank else dist.all_reduce(x),
        "sizes": lambda: dist.all_reduce(x_or_5),
        "dtypes": lambda: dist.all_reduce(x.double() if rank else x),
        "sums": lambda: dist.all_reduce(x, dist.ReduceOp.MAX if rank else dist.ReduceOp.SUM),
        "roots": lambda: dist.broadcast(x, rank),
        "groups": lambda: dist.new_group([0] if rank else [0, 1]),
        "reduce_scatter": lambda: dist.reduce_scatter(torch.zeros(2), uneven),
        "reduce_scatter_tensor": lambda: dist.reduce_scatter_tensor(two, torch.ones(5 - rank)),
        "all_gather": lambda: dist.all_gather([two, two if rank else three], torch.ones(2)),
        "all_gather_into_tensor": lambda: dist.all_gather_into_tensor(torch.ones(5 - rank), two),
        "gather": lambda: dist.gather(two, None if rank else [torch.ones(2), three]),
        "scatter": lambda: dist.scatter(torch.ones(2), None if rank else uneven),
        "all_to_all": lambda: dist.all_to_all([torch.ones(2) for _ in range(2)], uneven),
        "all_to_all_single": lambda: dist.all_to_all_single(torch.ones(4), torch.ones(5 - rank)),
        "splits": lambda: dist.all_to_all_single(
            torch.ones(4 - rank), torch.ones(4), [2, 2 - rank], [2, 2] if rank else [1, 3]
        ),
        "types of parts": lambda: dist.all_to_all_single(*[ints if rank else x] * 2),
    }
    calls[name]()


@pytest.mark.parametrize("name", DIFFERENT)
def test_collectives_that_do_not_fit(name):
    said = refused(call_that_differs, 2, name)
    assert all(words in said for words in DIFFERENT[name]), said


def test_an_asynchronous_collective_that_does_not_fit():
    def program():
        late = dist.get_rank() == 1
        work = dist.all_reduce(torch.ones(4 + 2 * late), async_op=late)
        if late:
            work.wait()

    assert "have different sizes: rank 0 calls all_reduce of 4" in refused(program)


def test_a_step_that_one_rank_skips_is_told_with_its_count():
    def program():
        for step in range(3):
            if step == 1 and dist.get_rank() == 1:
                continue
            for call, *given in ((dist.all_reduce, torch.ones(2)), (dist.barrier,)):
                call(*given)  # at one line
        dist.barrier()

    said = refused(program)
    assert "rank 0 calls all_reduce of 2 float32 (SUM) for the 3rd time at line" in said
    assert "rank 1 calls barrier at line" in said and "a step that one of them skips" in said


def everything():
    """A program that uses much of torch.distributed, in forms that need care."""
    rank, size = dist.get_rank(), dist.get_world_size()
    following, previous = (rank + 1) % size, (rank - 1) % size
    found = []
    x, y = torch.full((3,), float(rank)), torch.zeros(3)
    work = dist.isend(x, following)  # a ring: nobody receives yet
    dist.recv(y, previous)
    work.wait()
    found.append(y.tolist())
    works = [dist.isend(x + i, following, tag=i) for i in range(4)]
    buffers = [torch.zeros(3) for _ in range(4)]
    for i in (3, 1, 0, 2):  # in another order than they were sent
        dist.recv(buffers[i], previous, tag=i)
    for work in works:
        work.wait()
    found.append([b.tolist() for b in buffers])
    batch = [dist.P2POp(dist.isend, x, following), dist.P2POp(dist.irecv, y, previous)]
    for work in dist.batch_isend_irecv(batch):
        work.wait()
    sums = [torch.full((2,), float(rank + i)) for i in range(10)]
    works = [dist.all_reduce(s, async_op=True) for s in sums]
    dist.barrier()
    for work in works:
        work.wait()
    found.append([s[0].item() for s in sums])
    pair = dist.new_group([0, 1])
    if rank < 2:
        dist.all_reduce(y, group=pair)
        dist.broadcast(y, group_src=1, group=pair)
    found.append(y.tolist())
    if rank == 0:  # from any rank, in whatever order they come
        senders = []
        for _ in range(size - 1):
            senders.append(dist.recv(torch.zeros(1)))
        found.append(sorted(senders))
    else:
        dist.send(torch.ones(1), 0)
    if rank < 2:  # the same length in another shape, and parts that are uneven and fit
        square, rows = torch.zeros(2, 2), [[1, 2], [2, 0]][rank]
        dist.recv(square, 0) if rank else dist.send(torch.arange(4.0), 1)
        parts = torch.zeros(3 - rank, 2)
        dist.all_to_all_single(parts, torch.ones(3 - rank, 2), rows, rows, group=pair)
        found.append([square.sum().item(), parts.sum().item()])
    everybody = [torch.zeros(3) for _ in range(size)]
    dist.all_gather(everybody, x)
    objects = [None] * size
    dist.all_gather_object(objects, {"rank": rank, "text": "x" * rank})
    parts = torch.zeros(1)
    dist.reduce_scatter_tensor(parts, torch.arange(float(size)))
    scattered = torch.zeros(2)
    dist.scatter(scattered, [torch.ones(2) * i for i in range(size)] if rank == 0 else None, 0)
    if rank == 1:
        dist.send_object_list(["hello", 2], 0)
    if rank == 0:
        received = [None, None]
        dist.recv_object_list(received, 1)
        found.append(received)
    dist.all_to_all_single(torch.zeros(size), torch.arange(float(size)))
    found += [torch.stack(everybody).tolist(), objects, parts.item(), scattered.tolist()]
    return found


def test_checked_or_not_a_right_program_gives_the_same():
    arguments = {"timeout": 60, "quiet": True}
    checked = launch(everything, 3, checked=True, **arguments)
    unchecked = launch(everything, 3, checked=False, **arguments)
    assert checked == unchecked
    assert checked[0][0] == [2.0] * 3 and checked[0][4] == [1, 2] and checked[0][6] == ["hello", 2]
    assert (checked[0][5], checked[1][4]) == ([0, 6], [6, 4])


def test_notes_are_cleared_away():
    """A long program must not fill the store."""

    def program():
        from torch.distributed import distributed_c10d as c10d

        store = c10d._get_default_store()
        x, other = torch.ones(2), 1 - dist.get_rank()
        for _ in range(200):
            dist.all_reduce(x)
            work = dist.isend(x, other)
            dist.recv(x.clone(), other)
            work.wait()
        return store.num_keys()

    (keys, _) = launch(program, 2, timeout=60, quiet=True)
    assert keys < 100
