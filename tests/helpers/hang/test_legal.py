"""Legal programs in which a watch could see a deadlock: none is judged."""

import os
import signal
import threading
import time
from datetime import timedelta

import pytest
import torch
import torch.distributed as dist

from tests.helpers.hang.legal import LATE_S, MODES, rank, receive, results, send

pytestmark = [pytest.mark.slow, pytest.mark.ranks]

# --- somebody else acts: foreign code, signals, other services ---


def a_remote_call_with_an_open_all_reduce():
    import torch.distributed.rpc as rpc

    x = torch.ones(1)
    rpc.init_rpc(f"rank{rank()}", rank=rank(), world_size=3)
    if rank() == 0:
        work = dist.all_reduce(x, async_op=True)
        rpc.rpc_sync("rank2", time.sleep, args=(LATE_S,))
        send()
        work.wait()
    else:
        if rank() == 1:
            receive()
        dist.all_reduce(x)
    rpc.shutdown()
    return x.item() == 3


def a_remote_call_that_sends():
    """Rank 2 asks rank 0, which only receives, to send."""
    import torch.distributed.rpc as rpc

    rpc.init_rpc(f"rank{rank()}", rank=rank(), world_size=3)
    if rank() == 0:
        receive(1)
    elif rank() == 1:
        receive(0)
        send(peer=0)
    else:
        time.sleep(LATE_S)
        rpc.rpc_sync("rank0", dist.send, args=(torch.ones(1), 1))
    rpc.shutdown()
    return True


def a_signal_handler_sends_while_the_main_thread_polls():
    if rank() == 0:
        signal.signal(signal.SIGALRM, lambda *_: send())
        signal.setitimer(signal.ITIMER_REAL, LATE_S)
    return polls()


def a_child_process_signals_while_the_main_thread_polls():
    import subprocess

    if rank() == 0:
        signal.signal(signal.SIGUSR1, lambda *_: send())
        subprocess.Popen(["sh", "-c", f"sleep {LATE_S}; kill -USR1 {os.getpid()}"])
    return polls()


def polls():
    if rank():
        receive()
    work = dist.all_reduce(torch.ones(1), async_op=True)
    while not work.is_completed():
        time.sleep(0.01)
    return True


def a_signal_handler_sends_while_the_main_thread_joins():
    if rank() == 0:
        signal.signal(signal.SIGALRM, lambda *_: send())
        signal.setitimer(signal.ITIMER_REAL, LATE_S)
        thread = threading.Thread(target=receive, args=(1,))
        thread.start()
        thread.join()
    else:
        receive()
        send(peer=0)
    return True


def a_key_of_the_store_is_waited_for():
    store = dist.distributed_c10d._get_default_store()
    if rank() == 0:
        store.wait(["go"])
        send()
    elif rank() == 1:
        receive()
    else:
        time.sleep(LATE_S)
        store.set("go", "1")
    return True


def a_child_process_is_waited_for():
    import subprocess

    work = dist.all_reduce(torch.ones(1), async_op=True) if rank() == 0 else None
    if rank() == 0:
        subprocess.run(["sleep", str(LATE_S)], check=True)
        send()
        work.wait()
    else:
        receive()
        dist.all_reduce(torch.ones(1))
    return True


def a_loader_with_workers():
    if rank() == 0:
        loader = torch.utils.data.DataLoader(Slow(), num_workers=1)
        for batch in loader:
            dist.send(batch, 1)
    else:
        receive(), receive()
    return True


class Slow(torch.utils.data.Dataset):
    def __len__(self):
        return 2

    def __getitem__(self, number):
        time.sleep(LATE_S / 2)
        return torch.tensor(float(number))


# --- futures, callbacks, polling ---


def a_future_asked_for_before_the_other_comes():
    x = torch.ones(1)
    if rank() == 0:
        future = dist.all_reduce(x, async_op=True).get_future()
        send()
        return future.wait()[0].item() == 2
    receive()
    time.sleep(LATE_S)
    dist.all_reduce(x)
    return True


def a_callback_asked_for_before_the_other_comes():
    x, done = torch.ones(1), []
    if rank() == 0:
        future = dist.all_reduce(x, async_op=True).get_future().then(lambda f: done.append(1))
        send()
        future.wait()
        return done == [1]
    receive()
    time.sleep(LATE_S)
    dist.all_reduce(x)
    return True


def a_callback_sends_what_the_other_waits_for():
    x = torch.ones(1)
    if rank() == 0:
        dist.all_reduce(x, async_op=True).get_future().then(lambda f: send())
        receive(1)
    else:
        time.sleep(LATE_S)
        dist.all_reduce(x)
        receive()
        send(peer=0)
    return True


def a_work_that_is_asked_for_its_exception():
    x = torch.ones(1)
    if rank() == 1:
        time.sleep(LATE_S)
    work = dist.all_reduce(x, async_op=True)
    work.wait()
    return (work.is_success(), work.exception(), x.item()) == (True, None, 2)


def a_work_that_is_polled_between_other_work():
    x, rounds = torch.ones(1), 0
    if rank() == 0:
        work = dist.all_reduce(x, async_op=True)
        while not work.is_completed():
            time.sleep(0.1)
            rounds += 1
            if rounds == int(LATE_S * 10):
                send()
    else:
        receive()
        dist.all_reduce(x)
    return True


# --- time limits ---


def a_wait_whose_time_limit_passes():
    x = torch.ones(1)
    if rank() == 1:
        time.sleep(LATE_S)
        receive()
        dist.all_reduce(x)
        return True
    work = dist.all_reduce(x, async_op=True)
    try:
        work.wait(timedelta(seconds=LATE_S / 4))
    except RuntimeError:
        send()
        return True
    return False


def a_monitored_barrier_with_a_time_limit():
    time.sleep(rank() * LATE_S)
    try:
        dist.monitored_barrier(timeout=timedelta(seconds=LATE_S / 4))
    except RuntimeError:
        return True
    return False


# --- the ranks ask for the same thing in different ways: they meet all the same ---


def receives_from_anybody_of_two_sizes():
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


def receives_from_anybody_and_then_by_name():
    if rank() == 0:
        four, eight = torch.zeros(4), torch.zeros(8)
        dist.recv(four)
        dist.recv(eight, 2)
        return four.sum() == 4 and eight.sum() == 8
    if rank() == 2:
        dist.send(torch.ones(4), 0)
        dist.send(torch.ones(8), 0)
    return True


def an_operation_as_an_object():
    x = torch.ones(1)
    dist.all_reduce(x, op=dist.ReduceOp(dist.ReduceOp.MAX))
    dist.all_reduce(x, op=dist.ReduceOp.SUM if rank() else dist.ReduceOp(dist.ReduceOp.SUM))
    return x.item() == 2


def the_old_name_on_one_rank_and_the_new_on_another():
    x, y = torch.ones(1), torch.zeros(2)
    old, new = dist.all_gather_into_tensor, getattr(dist, "all_gather_single", None)
    (new or old)(y, x) if rank() else old(y, x)
    return y.sum() == 2


def a_direct_call_on_one_rank():
    x = torch.ones(1)
    if rank() == 0:
        dist.group.WORLD.allreduce([x]).wait()
        dist.group.WORLD.broadcast(x, 0).wait()
    else:
        dist.all_reduce(x)
        time.sleep(LATE_S * (rank() - 1))
        dist.broadcast(x, 0)
    return x.item() == 3


def direct_messages():
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


def a_direct_call_that_is_open_while_its_rank_receives():
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


def begins_again_with_other_groups():
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


def some_of_a_batch_is_waited_for():
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
    (a_remote_call_with_an_open_all_reduce, 3),
    (a_remote_call_that_sends, 3),
    (a_signal_handler_sends_while_the_main_thread_polls, 2),
    (a_child_process_signals_while_the_main_thread_polls, 2),
    (a_signal_handler_sends_while_the_main_thread_joins, 2),
    (a_key_of_the_store_is_waited_for, 3),
    (a_child_process_is_waited_for, 2),
    (a_loader_with_workers, 2),
    (a_future_asked_for_before_the_other_comes, 2),
    (a_callback_asked_for_before_the_other_comes, 2),
    (a_callback_sends_what_the_other_waits_for, 2),
    (a_work_that_is_asked_for_its_exception, 2),
    (a_work_that_is_polled_between_other_work, 2),
    (a_wait_whose_time_limit_passes, 2),
    (a_monitored_barrier_with_a_time_limit, 2),
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


@pytest.mark.long_for("unchecked")
@pytest.mark.parametrize(("program", "ranks"), LEGAL)
@MODES
def test_a_legal_program_ends(program, ranks, checked):
    assert results(program, ranks, checked=checked, timeout=30) == [True] * ranks


def a_checkpoint_with_an_open_all_reduce(folder):
    import ctypes
    from functools import partial

    import torch.distributed.checkpoint as dcp

    x = torch.ones(1)
    if rank() == 0:
        dcp.save({"x": x}, checkpoint_id=f"{folder}/warm", no_dist=True)
        work = dist.all_reduce(x, async_op=True)
        os.fsync = partial(ctypes.CDLL(None).usleep, int(LATE_S * 1e6))  # a slow disk
        dcp.save({"x": torch.ones(1)}, checkpoint_id=f"{folder}/slow", no_dist=True)
        send()
        work.wait()
    else:
        receive()
        dist.all_reduce(x)
    return x.item() == 2


def test_a_checkpoint_is_saved_while_an_all_reduce_is_open(tmp_path):
    """Its import takes long on a busy machine, so it is not in the table."""
    program = a_checkpoint_with_an_open_all_reduce
    assert results(program, 2, str(tmp_path), checked=False, timeout=240) == [True] * 2
