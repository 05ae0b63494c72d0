"""Programs that hang, with the words that must be said of them; and legal ones, of which none may.

    python tests/frozen/hangs.py                      all; some ten minutes
    python tests/frozen/hangs.py hangs ring legal     what has one of these words in its name
    python tests/frozen/hangs.py --record hangs       write down what is said today

hangs.json holds the first line of each, its cure and the lines that are shown. A hang is told as it
was where these are the same (up to numbers of lines); well, where the required words are in them.
A legal program that is stopped, or gives another result, had a false verdict.
"""

import argparse
import json
import os
import random
import re
import signal
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from helpers.ranks import launch, run_script  # noqa: E402

SAID = Path(__file__).with_name("hangs.json")
LATE_S = 4.0  # longer than ranks may stand still before they are judged
PAUSE_S = 3.0  # the same, in programs that pause several times


# --- hangs: each on so many ranks, checked and unchecked ---


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


def asks_whose_work_is_dropped():
    x, other = torch.ones(4), 1 - dist.get_rank()
    if dist.get_rank() == 0:
        dist.isend(x, other)
    dist.recv(x, other, tag=7)


def groups_named_once():
    groups = [dist.new_group([0, 1]) for _ in range(2)]
    for group in groups[:: 1 - 2 * dist.get_rank()]:
        dist.all_reduce(torch.ones(1), group=group)


def leaves_early_with_a_progress_bar():
    """tqdm starts a thread of its own, which sends nothing."""
    import io

    import tqdm

    tqdm.tqdm(total=3, file=io.StringIO()).update()
    leaves_early()


def waits_until_the_time_limit():
    if dist.get_rank() == 0:
        time.sleep(60)
    dist.barrier()


def ddp_with_a_batch_more():
    torch.manual_seed(0)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(3, 2))
    for _ in range(2 + dist.get_rank()):
        model(torch.ones(4, 3)).sum().backward()


def uneven_parts_of_a_reduce_scatter():
    two, three = torch.ones(2), torch.ones(3)
    dist.reduce_scatter(torch.zeros(2), [two, two if dist.get_rank() else three])


def joins_a_thread_that_receives():
    if dist.get_rank() == 1:
        return receive(0)
    thread = threading.Thread(target=receive, args=(1,), name="reader")
    thread.start()
    thread.join()


def leaves_a_thread_that_receives():
    if dist.get_rank() == 1:
        return receive(0)
    threading.Thread(target=receive, args=(1,), name="reader").start()


def threads_that_could_free_each_other():
    if rank():
        return receive(0)
    threads = [threading.Thread(target=receive, args=(1,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def sends_after_a_time_limit_that_passed():
    if dist.get_rank():
        time.sleep(30)
    work = dist.isend(torch.ones(2_000_000), 1)
    with suppress(RuntimeError):
        work.wait(timedelta(seconds=0.1))
    dist.send(torch.ones(1), 1, tag=2)


def sends_what_is_no_tensor():
    if dist.get_rank() == 0:
        dist.isend(None, 1)
    dist.recv(torch.ones(1), 1 - dist.get_rank(), tag=3)


def sends_what_is_strided():
    if dist.get_rank() == 0:
        dist.isend(torch.ones(4, 4).t()[1:], 1)
    dist.recv(torch.ones(1), 1 - dist.get_rank(), tag=3)


# Refused before gloo would mix numbers up in silence, or end the process: checked only.


def a_message(sent, received, later=False):
    if dist.get_rank() == 0:
        dist.isend(sent, 1).wait() if later else dist.send(sent, 1)
    else:
        dist.irecv(received, 0).wait() if later else dist.recv(received, 0)


def a_message_that_is_too_long():
    a_message(torch.ones(8), torch.ones(4))


def a_message_that_is_too_short():
    a_message(torch.ones(4), torch.ones(2, 3), later=True)


def a_message_of_another_dtype():
    a_message(torch.ones(4), torch.ones(4).int())


def a_later_message_of_another_dtype():
    a_message(torch.ones(4), torch.ones(2).double(), later=True)


def an_isend_that_nobody_waits_for():
    x = torch.ones(8)
    if dist.get_rank() == 0:
        dist.isend(x, 1)  # its receive comes later, so a thread looks at it
        time.sleep(30)
    else:
        time.sleep(0.3)
        dist.recv(x[:4], 0)


def an_asynchronous_collective_of_another_size():
    late = dist.get_rank() == 1
    work = dist.all_reduce(torch.ones(4 + 2 * late), async_op=late)
    if late:
        work.wait()


def a_step_that_one_skips():
    for step in range(3):
        if step == 1 and dist.get_rank() == 1:
            continue
        for call, *given in ((dist.all_reduce, torch.ones(2)), (dist.barrier,)):
            call(*given)  # at one line
    dist.barrier()


def ranks_that_differ(name):
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


def ranks_that_are_not_there():
    """On each of two ranks: what its calls are refused with."""
    x, rank, pair = torch.ones(2), dist.get_rank(), dist.new_group([0, 1])
    mine = [dist.new_group([each]) for each in (0, 1)][rank]
    calls = [
        lambda: dist.send(x, 2),
        lambda: dist.recv(x, -1),
        # Refused where it is made: nothing of the batch has been sent.
        lambda: [dist.P2POp(dist.isend, x, 1 - rank), dist.P2POp(dist.irecv, x, -1)],
        lambda: dist.broadcast(x, src=2),
        lambda: dist.send(x, group_dst=2, group=pair),
        lambda: dist.P2POp(dist.isend, x, 1 - rank, group=mine),
    ]
    said = []
    for call in calls:
        try:
            call()
        except Exception as error:
            said.append(str(error))
    return said


def the_next_one():
    x, following = torch.ones(1), dist.get_rank() + 1
    dist.send(x, following) if dist.get_rank() == 0 else dist.recv(x, following)


# --- legal programs ---


def rank() -> int:
    return dist.get_rank()


def send(peer=1, tag=0):
    dist.send(torch.full((1,), 7.0), peer, tag=tag)


def receive(peer=0, tag=0) -> float:
    x = torch.zeros(1)
    dist.recv(x, peer, tag=tag)
    return x.item()


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
        time.sleep(LATE_S * 0.75)
        return torch.tensor(float(number))


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


def a_checkpoint_with_an_open_all_reduce():
    import ctypes
    from functools import partial

    import torch.distributed.checkpoint as dcp

    x = torch.ones(1)
    if rank() == 0:
        folder = tempfile.mkdtemp()
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


def send_late():
    time.sleep(LATE_S)
    send()


def a_finalizer():
    import weakref

    if rank():
        return receive()
    global kept  # alive until the process ends
    kept = Runs()
    weakref.finalize(kept, send_late)


class Runs:
    pass


def an_executor():
    if rank():
        return receive()
    global kept  # nobody shuts it down
    kept = ThreadPoolExecutor(2)
    kept.submit(send_late)


def a_daemon_thread():
    if rank():
        return receive()
    threading.Thread(target=send_late, daemon=True).start()


def a_thread_without_a_name():
    import _thread

    if rank():
        x = receive()
        dist.send(torch.zeros(1), 0)
        return x
    _thread.start_new_thread(send_late, ())
    receive(1)


def a_callback():
    x = torch.ones(1)
    if rank():
        dist.all_reduce(x)
        x = receive()
        dist.send(torch.zeros(1), 0)
        return x
    dist.all_reduce(x, async_op=True).get_future().then(lambda _: send_late())
    receive(1)


def an_asynchronous_collective():
    """Rank 0 computes while it is open: it doesn't wait for it yet."""
    x = torch.ones(1)
    if rank():
        found = receive()
        dist.all_reduce(x)
        return found
    work = dist.all_reduce(x, async_op=True)
    send_late()
    work.wait()


def a_poll_that_gives_up():
    x = torch.zeros(1)
    if rank():
        found = receive()
        dist.send(x, 0)
        return found
    work, end = dist.irecv(x, 1), time.monotonic() + LATE_S
    while not work.is_completed():
        time.sleep(0.01)
        if time.monotonic() > end:
            break
    send()
    work.wait()


def a_timer_sends_while_the_main_thread_is_in_a_barrier():
    if rank() == 0:
        threading.Timer(PAUSE_S, lambda: dist.send(torch.ones(1), 1)).start()
    else:
        dist.recv(torch.zeros(1), 0)
    dist.barrier()
    return 1


def two_threads_each_in_a_group_of_its_own():
    groups = [dist.new_group([0, 1]) for _ in range(2)]

    def work(number):
        for _ in range(3):
            time.sleep(PAUSE_S if number == rank() else 0.05)
            dist.all_reduce(torch.ones(10), group=groups[number])

    threads = [threading.Thread(target=work, args=(number,)) for number in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return 1


def a_daemon_thread_answers():
    x = torch.zeros(1)
    if rank() == 0:

        def answer():
            y = torch.zeros(1)
            dist.recv(y, 1, tag=1)
            time.sleep(PAUSE_S)
            dist.send(y, 1, tag=2)

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        dist.recv(x, 1, tag=3)
        thread.join()
    else:
        dist.send(torch.ones(1), 0, tag=1)
        dist.recv(x, 0, tag=2)
        dist.send(x, 0, tag=3)
    return int(x.item())


def a_thread_receives_what_the_main_thread_waits_for():
    done = threading.Event()

    def receive():
        time.sleep(PAUSE_S)
        dist.recv(torch.zeros(1), 1)
        done.set()

    if rank() == 0:
        threading.Thread(target=receive).start()
        done.wait()
    else:
        dist.send(torch.zeros(1), 0)
    dist.barrier()
    return 1


def a_hook_of_the_backward_pass_waits():
    x = torch.ones(3, requires_grad=True)

    def hook(gradient):
        time.sleep(PAUSE_S * rank())
        dist.all_reduce(gradient)
        return gradient

    x.register_hook(hook)
    (x * 2).sum().backward()
    return int(x.grad[0].item()) // 4


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


COLLECTIVES = ("all_reduce", "broadcast", "all_gather", "reduce", "barrier", "objects")


def legal_events(seed: int, ranks: int) -> list[tuple]:
    """The events of a program, as facts that every rank reads alike."""
    draw = random.Random(seed)
    groups = [sorted(draw.sample(range(ranks), draw.randint(2, ranks))) for _ in range(2)]
    events = []
    for number in range(draw.randint(4, 12)):
        late = (draw.randrange(ranks), draw.choice([0] * 9 + [0.01, 0.01, LATE_S]))
        if draw.random() < 0.6:
            source, target = draw.sample(range(ranks), 2)
            ways = draw.choice(("plain", "plain", "later", "thread", "batch", "objects"))
            shape = tuple(draw.randint(1, 5) for _ in range(draw.randint(1, 3)))
            both = (ways, draw.choice(("plain", "later")) if ways in ("plain", "later") else ways)
            tag = draw.choice((0, 0, 3, number))
            events.append(("message", source, target, both, tag, shape, late))
        else:
            name, group = draw.choice(COLLECTIVES), draw.choice((None, 0, 1))
            members = list(range(ranks)) if group is None else groups[group]
            root = draw.choice(members)
            later = draw.random() < 0.4 and name in ("all_reduce", "broadcast")
            events.append(("collective", name, group, members, root, later, late))
    return [("groups", groups), *events]


class Runner:
    """One rank's part of a sequence of events."""

    def __init__(self, offset: int):
        self.rank, self.offset = dist.get_rank(), offset
        self.works: list = []
        self.threads: list[threading.Thread] = []
        self.kept: list = []  # what asynchronous operations still read or write
        self.groups: list = []

    def run(self, events: list[tuple]) -> None:
        for number, event in enumerate(events):
            if event[0] == "groups":
                self.groups = [dist.new_group(ranks) for ranks in event[1]]
                continue
            who, seconds = event[-1]
            if who == self.rank and seconds:
                time.sleep(seconds)
            (self.message if event[0] == "message" else self.collective)(number, *event[1:-1])
        self.end()

    def end(self) -> None:
        for thread in self.threads:
            thread.join()
        for work in self.works:
            work.wait()

    def message(self, number, source, target, ways, tag, shape) -> None:
        if self.rank not in (source, target):
            return
        sends = self.rank == source
        peer, way = (target, ways[0]) if sends else (source, ways[1])
        tensor = torch.full(shape, float(number if sends else -1))
        self.kept.append(tensor)
        tag += self.offset  # what an event's thread does late meets nobody else's message
        if way == "objects":
            told = [number if sends else None]
            (dist.send_object_list if sends else dist.recv_object_list)(told, peer)
            assert told == [number]
        elif way == "thread":
            tag = 1000 + self.offset + number
            function = dist.send if sends else dist.recv
            thread = threading.Thread(target=function, args=(tensor, peer), kwargs={"tag": tag})
            thread.start()
            self.threads.append(thread)
        elif way == "batch":
            operation = dist.P2POp(dist.isend if sends else dist.irecv, tensor, peer, tag=tag)
            self.works += dist.batch_isend_irecv([operation])
        elif way == "later":
            self.works.append((dist.isend if sends else dist.irecv)(tensor, peer, tag=tag))
        else:
            (dist.send if sends else dist.recv)(tensor, peer, tag=tag)

    def collective(self, number, name, group, members, root, later) -> None:
        if self.rank not in members:
            return
        group = None if group is None else self.groups[group]
        tensor = torch.ones(3)
        self.kept.append(tensor)
        if name == "barrier":
            dist.barrier(group)
        elif name == "objects":
            found = [None] * len(members)
            dist.all_gather_object(found, number, group=group)
            assert found == [number] * len(members)
        elif name == "all_gather":
            dist.all_gather([torch.zeros(3) for _ in members], tensor, group=group)
        elif name == "reduce":
            dist.reduce(tensor, root, group=group)
        else:
            arguments = {"src": root} if name == "broadcast" else {}
            work = getattr(dist, name)(tensor, group=group, async_op=later, **arguments)
            if later:
                self.works.append(work)


def several_legal(seeds: list[int]) -> str:
    """Many programs after each other: a launch costs more than a program."""
    for seed in seeds:
        events = legal_events(seed, dist.get_world_size())
        Runner(offset=seed % 1000 * 10_000).run(events)
    return "done"


def a_message_that_goes_on_in_a_collective():
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


def a_group_that_waits_for_its_members_alone():
    rank = dist.get_rank()
    if rank == 2:
        dist.recv(torch.ones(1), 0)
    if rank == 1:
        time.sleep(LATE_S)
    dist.new_group([0, 1])
    if rank == 0:
        dist.send(torch.ones(1), 2)
    return True


def one_that_computes():
    if dist.get_rank() == 0:
        time.sleep(LATE_S)
    dist.all_reduce(torch.ones(3))
    return True


def a_timer_that_sends():
    x = torch.full((2,), 5.0)
    if dist.get_rank() == 1:
        dist.recv(x, 0)
        return True
    timer = threading.Timer(LATE_S, dist.send, (x, 1))
    timer.start()
    timer.join()
    return True


def a_wait_that_gives_up():
    if rank():
        return True
    try:
        dist.irecv(torch.zeros(1), 1).wait(timedelta(seconds=LATE_S))
    except RuntimeError:
        return True


def a_collective_that_was_started_before_the_end():
    """Rank 0 has called it and returned, and rank 2 is late: nobody left early."""
    if rank() == 2:
        time.sleep(LATE_S)
    work = dist.all_reduce(torch.ones(1), async_op=True)
    if rank():
        work.wait()
    return True


def threads_one_after_the_other():
    return [program() for program in WITH_THREADS] == [1] * len(WITH_THREADS)


def many_random_ones():
    """A launch costs more than a program."""
    return several_legal(list(range(12))) == "done"


SCRIPT = """\
import atexit, threading, torch, torch.distributed as dist
dist.init_process_group("gloo")
def last(): dist.send(torch.full((1,), 7.0), 1)
if dist.get_rank() == 0:
    {way}
else:
    x = torch.zeros(1)
    dist.recv(x, 0)
    print("received", x.item())
"""

# --- what must be said ---

TABLE = [  # the program, ranks, words of the first line, words of the cure
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
BOTH = (True, False)
IS_COMPLETED = ".is_completed()"
# The program, ranks, checked or not, seconds, words of the first line, words of the whole report.
HANGS = [
    (program, ranks, BOTH, 30, (first,), ("Cure: ", cure)) for program, ranks, first, cure in TABLE
]
HANGS += [
    (asks_for_ever, 2, (True,), 60, ("deadlock: ",), (IS_COMPLETED,)),
    (asks_for_ever_about_several, 2, (False,), 60, ("deadlock: ",), (IS_COMPLETED,)),
    (
        a_local_group_after_unequal_counts,
        3,
        (True,),
        60,
        ("has made 0 groups before", "has made 1 group before"),
        (),
    ),
    (groups_named_once, 2, (True,), 60, ("in the group of",), ()),
    (
        leaves_early_with_a_progress_bar,
        3,
        (True,),
        60,
        (" left early: ", "while rank 0 calls all_red"),
        (),
    ),
    (
        waits_until_the_time_limit,
        2,
        (True,),
        5,
        ("the ranks did not finish within 5 s, and were stopped: rank 1 waits",),
        ("rank 0 is at work at line", "time.sleep(60)", "give the launch more time"),
    ),
    (
        ddp_with_a_batch_more,
        2,
        (True,),
        240,
        ("rank 0 left early",),
        ("C++ all_reduce of 8 float32, started inside C++ by line", ".sum().backward()"),
    ),
    (asks_whose_work_is_dropped, 2, BOTH, 30, (), ("receives 4 float32 from rank 1 with tag 7",)),
    (
        uneven_parts_of_a_reduce_scatter,
        2,
        (False,),
        30,
        (
            "the parts of a collective have different sizes: rank 0 calls",
            "with 3 numbers for rank 1, which takes 2",
        ),
        (),
    ),
    *(
        (
            program,
            2,
            BOTH,
            60,
            ("ranks 0 and 1 both receive first",),
            ("waits for reader, which receives", "in receive"),
        )
        for program in (joins_a_thread_that_receives, leaves_a_thread_that_receives)
    ),
    (
        threads_that_could_free_each_other,
        2,
        (True,),
        5,
        (),
        ("receives 1 float32 from rank 1 at line", "thread.join()"),
    ),
    (
        sends_after_a_time_limit_that_passed,
        2,
        (False,),
        20,
        ("rank 0 sends 1 float32 to rank 1 with tag 2", "wait() without a time limit"),
        (),
    ),
    (sends_what_is_no_tensor, 2, (True,), 30, ("rank 0 failed first at line",), ("dist.isend(",)),
    (sends_what_is_strided, 2, (False,), 30, ("rank 0 failed first at line",), ("dist.isend(",)),
    (
        a_message_that_is_too_long,
        2,
        (True,),
        30,
        ("too long: rank 0 sends 8 float32 to rank 1",),
        (),
    ),
    (a_message_that_is_too_short, 2, (True,), 30, ("too short: rank 0 sends 4 float32 to",), ()),
    (a_message_of_another_dtype, 2, (True,), 30, ("dtype mismatch: rank 0 sends 4 float32",), ()),
    (a_later_message_of_another_dtype, 2, (True,), 30, ("dtype mismatch: rank 0 sends 4",), ()),
    (an_isend_that_nobody_waits_for, 2, (True,), 30, ("message too long",), ()),
    (
        an_asynchronous_collective_of_another_size,
        2,
        (True,),
        30,
        ("have different sizes: rank 0 calls all_reduce of 4",),
        (),
    ),
    (
        a_step_that_one_skips,
        2,
        (True,),
        30,
        (
            "rank 0 calls all_reduce of 2 float32 (SUM) for the 3rd time at line",
            "rank 1 calls barrier at line",
            "a step that one of them skips",
        ),
        (),
    ),
    (the_next_one, 2, BOTH, 30, ("from rank 2, but the ranks are 0 to 1",), ()),
]
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
NOT_THERE = (
    "sends to rank 2, but the ranks are 0 to 1",
    "receives from rank -1",
    "receives from rank -1",
    "calls broadcast from rank 2",
    "sends to group rank 2",
    "sends to rank ",
)

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
WITH_THREADS = (
    a_timer_sends_while_the_main_thread_is_in_a_barrier,
    two_threads_each_in_a_group_of_its_own,
    a_daemon_thread_answers,
    a_thread_receives_what_the_main_thread_waits_for,
    a_hook_of_the_backward_pass_waits,
)
SEVENS = (
    a_finalizer,
    an_executor,
    a_daemon_thread,
    a_thread_without_a_name,
    a_callback,
    an_asynchronous_collective,
    a_poll_that_gives_up,
)
# The program, ranks, checked or not, seconds, what the last rank returns.
RUNS = [(program, ranks, BOTH, 60, True) for program, ranks in LEGAL]
RUNS += [(program, 2, (True,), 60, 7.0) for program in SEVENS]
RUNS += [
    (a_checkpoint_with_an_open_all_reduce, 2, (False,), 240, True),
    (a_message_that_goes_on_in_a_collective, 2, BOTH, 60, [3.0] * 4),
    (a_group_that_waits_for_its_members_alone, 3, (False,), 60, True),
    (one_that_computes, 3, BOTH, 60, True),
    (a_timer_that_sends, 2, BOTH, 60, True),
    (a_wait_that_gives_up, 2, (True,), 60, True),
    (a_collective_that_was_started_before_the_end, 3, (True,), 60, True),
    (threads_one_after_the_other, 2, BOTH, 120, True),
    (many_random_ones, 2, BOTH, 120, True),
    (many_random_ones, 4, BOTH, 120, True),
    (everything, 3, BOTH, 60, None),
]
WAYS = ("threading.Timer(4, last).start()", "atexit.register(last)")


def plain(words: str) -> str:
    """Words without numbers of lines, the name of this file, or which rank was still ending."""
    words = re.sub(r"line \d+( of [\w.]+)?", "line #", words)
    return re.sub(r"(had|has) (already )?finished|is ending", "#", words)


def parts(said: str) -> dict:
    """The first line of a report, its cure, and the lines of the program that it shows."""
    first, _, cure = said.partition("Cure: ")
    shown = {line.split("| ")[1].strip() for line in said.splitlines() if " | " in line}
    found = {"sentence": plain(first.splitlines()[0]), "cure": plain(cure.split("\n\n")[0].strip())}
    # What is refused shows the line of whoever came second.
    return found | {"lines": sorted(shown) if cure else []}


def told(name: str, program, ranks: int, checked: bool, seconds: float) -> str:
    how = {"timeout": seconds, "on_error": "report", "quiet": True, "checked": checked}
    report = launch(program, ranks, **how)
    return "" if report.ok else str(report)


def of_hangs(chosen, known: dict, record: bool) -> tuple[int, int, int]:
    """(programs, told with the required words, told word by word as before)."""
    count = well = same = 0
    for program, ranks, modes, seconds, first, anywhere in HANGS:
        for checked in modes:
            name = f"{program.__name__}, {'checked' if checked else 'unchecked'}"
            if not chosen(f"hangs {name}"):
                continue
            said = told(name, program, ranks, checked, seconds)
            lines = said.splitlines() or [""]
            source = [line.split("| ")[1] for line in lines if " | " in line]
            missing = [w for w in first if w not in lines[0]] + [
                w for w in anywhere if w not in said
            ]
            if "Cure: " in anywhere:
                late = "did not finish within" in said
                missing += ["a proof"] * late
                missing += ["its line"] * (not any("dist." in s or ".wait()" in s for s in source))
            count, well = count + 1, well + (not missing)
            found = parts(said) if said else {}
            if record:
                known[name] = found
            same += known.get(name) == found
            if missing:
                print(f"  {name}: lacks {missing}\n    said: {said}", flush=True)
            elif known.get(name) != found:
                print(
                    f"  {name}: other words\n    was: {known.get(name)}\n    is:  {found}",
                    flush=True,
                )
    return count, well, same


def of_calls(chosen) -> tuple[int, int]:
    """(calls that must be refused, refused with the required words)."""
    count = well = 0
    for name, words in DIFFERENT.items() if chosen("calls ranks_that_differ") else ():
        # Whoever comes second is refused, so each collective has a launch of its own.
        how = {"timeout": 60, "on_error": "report", "quiet": True}
        said = str(launch(ranks_that_differ, 2, (name,), **how))
        fine = all(w in said.splitlines()[0] for w in words)
        count, well = count + 1, well + fine
        if not fine:
            print(f"  a collective, {name}: lacks some of {words}: {said}")
    for checked in BOTH if chosen("calls ranks_that_are_not_there") else ():
        both = launch(ranks_that_are_not_there, 2, timeout=60, quiet=True, checked=checked)
        for number, said in enumerate(both):
            for words, sentence in zip(NOT_THERE, [*said, *[""] * 6], strict=False):
                fine = sentence.startswith(f"rank {number} {words}")
                count, well = count + 1, well + fine
                if not fine:
                    print(f"  no such rank: lacks {words!r}: {sentence}")
    return count, well


def of_legal(chosen) -> tuple[int, int]:
    """(launches of legal programs, false verdicts)."""
    count = wrong = 0
    for program, ranks, modes, seconds, expected in RUNS:
        for checked in modes:
            name = f"{program.__name__}, {'checked' if checked else 'unchecked'}"
            if not chosen(f"legal {name}"):
                continue
            how = {"timeout": seconds, "on_error": "report", "quiet": True, "checked": checked}
            report = launch(program, ranks, **how)
            results = report.results if report.ok else [None]
            if program is everything and report.ok:
                first = results[0]
                fine = first[0] == [2.0] * 3 and first[4] == [1, 2] and first[6] == ["hello", 2]
                fine = fine and (first[5], results[1][4]) == ([0, 6], [6, 4])
            else:
                fine = report.ok and results[-1] == expected
            count, wrong = count + 1, wrong + (not fine)
            if not fine:
                print(f"  {name}: {results} {'' if report.ok else report}", flush=True)
    for way in WAYS:
        if chosen(f"legal a script that ends by {way}"):
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder, "script.py")
                path.write_text(SCRIPT.format(way=way), encoding="utf-8")
                report = run_script(path, 2, timeout=60, quiet=True)
            fine = report.ok and "received 7.0" in report.texts[1]
            count, wrong = count + 1, wrong + (not fine)
            if not fine:
                print(f"  a script that ends by {way}: {report}")
    return count, wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("words", nargs="*", help="hangs, calls, legal, or words of names")
    parser.add_argument("--record", action="store_true", help="write down what is said today")
    asked = parser.parse_args()

    def chosen(name: str) -> bool:
        return not asked.words or any(word in name for word in asked.words)

    known = json.loads(SAID.read_text(encoding="utf-8")) if SAID.exists() else {}
    count, well, same = of_hangs(chosen, known, asked.record)
    print(f"hangs: {count}, {well} with the required words, {same} word by word", flush=True)
    if asked.record:
        SAID.write_text(f"{json.dumps(known, indent=1, ensure_ascii=False)}\n", encoding="utf-8")
    count, well = of_calls(chosen)
    print(f"calls that are refused: {count}, {well} with the required words", flush=True)
    count, wrong = of_legal(chosen)
    print(f"legal programs: {count}, {wrong} with a false verdict", flush=True)


if __name__ == "__main__":
    main()
