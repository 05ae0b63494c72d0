"""What the watch of a rank knows of the program's own operations."""

import inspect
from types import SimpleNamespace

import pytest
import torch
from torch.distributed import distributed_c10d as c10d

from helpers.hang.calls import NAMES
from helpers.hang.deferred import Deferred
from helpers.ranks import launch

pytestmark = pytest.mark.ranks


def leave_one():
    import torch.distributed as dist

    from helpers.hang.monitor import the_monitor

    if dist.get_rank() == 1:
        for _ in range(3):
            dist.recv(torch.empty(2), 0)
        return []
    dist.isend(torch.ones(2), 1).wait()
    dist.send(torch.ones(2), 1)
    dist.batch_isend_irecv([dist.P2POp(dist.isend, torch.ones(2), 1)])
    left = [(operation.name, operation.peer) for operation in the_monitor().not_waited_for()]
    for work in list(the_monitor()._kept.values()):
        work.wait()
    return [left, the_monitor().not_waited_for()]


def test_a_message_that_nobody_waits_for_is_known():
    assert launch(leave_one, 2, quiet=True)[0] == [[("isend", 1)], []]


def test_no_collective_of_this_torch_goes_unwatched():
    """Torch 2.13 renamed two of them, and a hang under fully_shard couldn't be explained."""
    public = {name: getattr(c10d, name) for name in c10d.__all__ if name not in NAMES}
    taking_a_group = {
        name
        for name, thing in public.items()
        if inspect.isfunction(thing) and "async_op" in inspect.signature(thing).parameters
    }
    assert taking_a_group == {"all_gather_coalesced", "all_reduce_coalesced"}  # deprecated


def test_a_callback_that_runs_at_once_runs_before_its_work_is_completed():
    """Checked mode's own thread runs it, which isn't looked at: the rank can still act."""
    for fails in (False, True):
        work, seen = Deferred(), []
        work.get_future().add_done_callback(lambda _, w=work, s=seen: s.append(w.is_completed()))
        done = torch.futures.Future()
        done.set_result([])
        torchs = SimpleNamespace(get_future=lambda done=done: done, is_completed=lambda: True)
        work.fail(RuntimeError("no")) if fails else work.begin(torchs)
        assert seen == [False] and work.is_completed()
