"""Programs with threads, which end under torchrun, end in checked mode too."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
import torch.distributed as dist

from helpers.ranks import launch

PAUSE_S = 0.7  # longer than ranks may stand still in these tests before they are judged


def rank() -> int:
    return dist.get_rank()


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


def asynchronous_work_in_each_threads_own_group():
    groups = [dist.new_group([0, 1]) for _ in range(2)]

    def work(number):
        total = torch.zeros(1)
        for _ in range(3):
            time.sleep(PAUSE_S if number == rank() else 0.05)
            x = torch.ones(1)
            dist.all_reduce(x, group=groups[number], async_op=True).wait()
            total += x
        return total.item()

    with ThreadPoolExecutor(2) as pool:
        return sum(pool.map(work, (0, 1))) / 12


def timers_send_while_both_main_threads_receive():
    x = torch.zeros(1)
    timer = threading.Timer(PAUSE_S, lambda: dist.send(torch.ones(1), 1 - rank()))
    timer.start()
    dist.recv(x, 1 - rank())
    timer.join()
    return int(x.item())


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


def an_executor_reduces():
    with ThreadPoolExecutor(2) as pool:
        work = pool.submit(dist.all_reduce, torch.ones(1))
        time.sleep(PAUSE_S * rank())
        work.result()
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


def a_thread_for_every_message():
    received = []

    def receive(number):
        x = torch.zeros(1)
        dist.recv(x, 0, tag=number)
        received.append(int(x.item()))

    def send(number):
        time.sleep(0.02 * number)
        dist.send(torch.full((1,), float(number)), 1, tag=number)

    threads = [threading.Thread(target=(send, receive)[rank()], args=(n,)) for n in range(20)]
    for thread in threads:
        thread.start()
    dist.barrier()
    for thread in threads:
        thread.join()
    return int(rank() == 0 or sorted(received) == list(range(20)))


@pytest.mark.parametrize("checked", [True, False], ids=["checked", "unchecked"])
@pytest.mark.parametrize(
    "program",
    [
        a_timer_sends_while_the_main_thread_is_in_a_barrier,
        two_threads_each_in_a_group_of_its_own,
        asynchronous_work_in_each_threads_own_group,
        timers_send_while_both_main_threads_receive,
        a_daemon_thread_answers,
        a_thread_receives_what_the_main_thread_waits_for,
        an_executor_reduces,
        a_hook_of_the_backward_pass_waits,
        a_thread_for_every_message,
    ],
    ids=lambda program: program.__name__,
)
def test_a_right_program_with_threads_ends(program, checked):
    report = launch(program, 2, timeout=120, on_error="report", quiet=True, checked=checked)
    assert report.results == [1, 1], report.failure
