"""Threads, timers, callbacks and exit handlers: while one of them can still act, no verdict."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
import torch
import torch.distributed as dist

from helpers.ranks import run_script
from tests.helpers.hang.legal import LATE_S, MODES, rank, receive, results, send

pytestmark = [pytest.mark.slow, pytest.mark.ranks]

PAUSE_S = 0.5  # longer than ranks may stand still, for programs that pause several times


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


PROGRAMS = [
    a_finalizer,
    an_executor,
    a_daemon_thread,
    a_thread_without_a_name,
    a_callback,
    an_asynchronous_collective,
    a_poll_that_gives_up,
]


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_rank_that_can_still_send_is_waited_for(program):
    assert results(program)[1] == 7.0


# --- programs in which several threads communicate ---


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


RIGHT = (
    a_timer_sends_while_the_main_thread_is_in_a_barrier,
    two_threads_each_in_a_group_of_its_own,
    a_daemon_thread_answers,
    a_thread_receives_what_the_main_thread_waits_for,
    a_hook_of_the_backward_pass_waits,
)


@MODES
def test_right_programs_with_threads_end(checked):
    def one_after_the_other():
        return [program() for program in RIGHT]

    found = results(one_after_the_other, checked=checked, timeout=120)
    assert found == [[1] * len(RIGHT)] * 2


# --- ends and time limits ---


def test_a_wait_with_a_time_limit_ends_by_itself():
    def program():
        if rank():
            return "nothing to do"
        try:
            dist.irecv(torch.zeros(1), 1).wait(timedelta(seconds=LATE_S))
        except RuntimeError:
            return "gave up"

    assert results(program) == ["gave up", "nothing to do"]


def test_a_collective_that_was_started_before_the_end_counts():
    """Rank 0 has called it and returned, and rank 2 is late: nobody left early."""

    def program():
        if rank() == 2:
            time.sleep(LATE_S)
        work = dist.all_reduce(torch.ones(1), async_op=True)
        return work.wait() if rank() else None

    results(program, 3)


@pytest.mark.parametrize("way", ["threading.Timer(2, last).start()", "atexit.register(last)"])
def test_a_script_ends_as_python_ends(way, tmp_path):
    (tmp_path / "script.py").write_text(f"""\
import atexit, threading, torch, torch.distributed as dist
dist.init_process_group("gloo")
def last(): dist.send(torch.full((1,), 7.0), 1)
if dist.get_rank() == 0:
    {way}
else:
    x = torch.zeros(1)
    dist.recv(x, 0)
    print("received", x.item())
""")
    report = run_script(tmp_path / "script.py", 2, timeout=60, quiet=True)
    assert report.ok, report.failure
    assert "received 7.0" in report.texts[1]
