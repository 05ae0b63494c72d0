"""Legal programs in which a watch could see a deadlock: none is judged."""

import os
import signal
import threading
import time
from datetime import timedelta

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


# --- somebody else acts: foreign code, signals, other services ---


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


def a_remote_call_with_an_open_all_reduce(_):
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


def a_remote_call_that_sends(_):
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


def a_signal_handler_sends_while_the_main_thread_polls(_):
    if rank() == 0:
        signal.signal(signal.SIGALRM, lambda *_: send())
        signal.setitimer(signal.ITIMER_REAL, LATE_S)
    return polls()


def a_child_process_signals_while_the_main_thread_polls(_):
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


def a_signal_handler_sends_while_the_main_thread_joins(_):
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


def a_key_of_the_store_is_waited_for(_):
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


def a_child_process_is_waited_for(_):
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


def a_loader_with_workers(_):
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


def a_future_asked_for_before_the_other_comes(_):
    x = torch.ones(1)
    if rank() == 0:
        future = dist.all_reduce(x, async_op=True).get_future()
        send()
        return future.wait()[0].item() == 2
    receive()
    time.sleep(LATE_S)
    dist.all_reduce(x)
    return True


def a_callback_asked_for_before_the_other_comes(_):
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


def a_callback_sends_what_the_other_waits_for(_):
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


def a_work_that_is_asked_for_its_exception(_):
    x = torch.ones(1)
    if rank() == 1:
        time.sleep(LATE_S)
    work = dist.all_reduce(x, async_op=True)
    work.wait()
    return (work.is_success(), work.exception(), x.item()) == (True, None, 2)


def a_work_that_is_polled_between_other_work(_):
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


def a_wait_whose_time_limit_passes(_):
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


def a_monitored_barrier_with_a_time_limit(_):
    time.sleep(rank() * LATE_S)
    try:
        dist.monitored_barrier(timeout=timedelta(seconds=LATE_S / 4))
    except RuntimeError:
        return True
    return False


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
]


@pytest.mark.parametrize(("program", "ranks"), LEGAL)
@MODES
def test_a_legal_program_ends(program, ranks, checked, tmp_path):
    how = {"timeout": 30, "on_error": "report", "quiet": True, "checked": checked}
    report = launch(program, ranks, (str(tmp_path),), **how)
    assert report.ok, report.failure
    assert report.results == [True] * ranks


def test_a_checkpoint_is_saved_while_an_all_reduce_is_open(tmp_path):
    """Its import takes long on a busy machine, so it is not in the table."""
    how = {"timeout": 240, "on_error": "report", "quiet": True, "checked": False}
    report = launch(a_checkpoint_with_an_open_all_reduce, 2, (str(tmp_path),), **how)
    assert report.results == [True] * 2, report.failure
