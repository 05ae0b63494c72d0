"""Legal programs whose ranks ask for the same thing in different ways: they meet all the same."""

import time

import pytest
import torch
import torch.distributed as dist

from helpers.ranks import launch

LATE_S = 1.2  # much longer than these tests let ranks stand still before they are judged
MODES = pytest.mark.parametrize("checked", [True, False], ids=["checked", "unchecked"])


def rank() -> int:
    return dist.get_rank()


def send(value=7.0, peer=1, tag=0):
    dist.send(torch.full((1,), value), peer, tag=tag)


def receive(peer=0, tag=0) -> float:
    x = torch.zeros(1)
    dist.recv(x, peer, tag=tag)
    return x.item()


def receives_from_anybody_of_two_sizes(_):
    if rank() == 0:
        four, eight = torch.zeros(4), torch.zeros(8)
        works = [dist.irecv(four), dist.irecv(eight)]
        works[0].wait()
        send(peer=2)
        works[1].wait()
        return four.sum() == 4 and eight.sum() == 8
    if rank() == 1:
        dist.send(torch.ones(4), 0)
    else:
        receive()
        dist.send(torch.ones(8), 0)
    return True


def receives_from_anybody_and_then_by_name(_):
    if rank() == 0:
        four, eight = torch.zeros(4), torch.zeros(8)
        dist.recv(four)
        dist.recv(eight, 2)
        return four.sum() == 4 and eight.sum() == 8
    if rank() == 2:
        dist.send(torch.ones(4), 0)
        dist.send(torch.ones(8), 0)
    return True


def an_operation_as_an_object(_):
    x = torch.ones(1)
    dist.all_reduce(x, op=dist.ReduceOp(dist.ReduceOp.MAX))
    dist.all_reduce(x, op=dist.ReduceOp.SUM if rank() else dist.ReduceOp(dist.ReduceOp.SUM))
    return x.item() == 2


def the_old_name_on_one_rank_and_the_new_on_another(_):
    x, y = torch.ones(1), torch.zeros(2)
    old, new = dist.all_gather_into_tensor, getattr(dist, "all_gather_single", None)
    (new or old)(y, x) if rank() else old(y, x)
    return y.sum() == 2


def a_direct_call_on_one_rank(_):
    x = torch.ones(1)
    if rank() == 0:
        dist.group.WORLD.allreduce([x]).wait()
        dist.group.WORLD.broadcast(x, 0).wait()
    else:
        dist.all_reduce(x)
        time.sleep(LATE_S * (rank() - 1))
        dist.broadcast(x, 0)
    return x.item() == 3


def direct_messages(_):
    x, group = torch.ones(1), dist.group.WORLD
    if rank() == 0:
        group.send([x], 1, 0).wait()
        dist.send(x, 1)
        dist.send(torch.ones(2), 1)
        receive(1)
    elif rank() == 1:
        dist.recv(x, 0)
        time.sleep(LATE_S)
        group.recv([x], 0, 0).wait()
        dist.recv(torch.ones(2), 0)
        dist.isend(x, 0).wait()
    return True


def a_direct_call_that_is_open_while_its_rank_receives(_):
    """Rank 2 is late, while rank 0 has called it already and waits for rank 1."""
    x = torch.ones(1)
    if rank() == 0:
        work = dist.group.WORLD.allreduce([x])
        receive(1)
        work.wait()
        return True
    time.sleep(LATE_S * (rank() - 1))
    dist.all_reduce(x)
    if rank() == 1:
        send(peer=0)
    return True


def begins_again_with_other_groups(_):
    group = dist.new_group([0, 1])
    if rank() < 2:
        for _ in range(3):
            dist.all_reduce(torch.ones(1), group=group)
    dist.barrier()
    dist.destroy_process_group()
    dist.init_process_group("gloo")
    group, x = dist.new_group([0, 2]), torch.ones(1)
    if rank() != 1:
        time.sleep(LATE_S * (rank() == 2))
        dist.all_reduce(x, group=group)
    dist.barrier()
    return x.item() == 1 + (rank() != 1)


def some_of_a_batch_is_waited_for(_):
    """The second message comes only after this rank has gone on."""
    other, got = 1 - rank(), [torch.zeros(1) for _ in range(2)]
    batch = [dist.P2POp(dist.irecv, got[tag], other, tag=tag) for tag in range(2)]
    batch.append(dist.P2POp(dist.isend, torch.ones(1), other, tag=0))
    works = dist.batch_isend_irecv(batch)
    works[0].wait()
    time.sleep(LATE_S * rank())
    dist.barrier()
    if rank() == 0:
        send(tag=1)
        works[1].wait()
    else:
        works[1].wait()
        send(peer=0, tag=1)
    return got[1].item() == 7


LEGAL = [  # and on how many ranks
    (receives_from_anybody_of_two_sizes, 3),
    (receives_from_anybody_and_then_by_name, 3),
    (an_operation_as_an_object, 2),
    (the_old_name_on_one_rank_and_the_new_on_another, 2),
    (a_direct_call_on_one_rank, 3),
    (direct_messages, 2),
    (a_direct_call_that_is_open_while_its_rank_receives, 3),
    (begins_again_with_other_groups, 3),
    (some_of_a_batch_is_waited_for, 2),
]


@pytest.mark.parametrize(("program", "ranks"), LEGAL)
@MODES
def test_the_ranks_meet(program, ranks, checked):
    how = {"timeout": 30, "on_error": "report", "quiet": True, "checked": checked}
    report = launch(program, ranks, (None,), **how)
    assert report.ok, report.failure
    assert report.results == [True] * ranks
