"""Ranks that wait in vain are told at once, by the cluster's own driver and under asyncio."""

import asyncio
import time

import pytest
from cluster import PuzzleError, outcome, run
from cluster.ranks import Deadlock
from steps import by_asyncio, data_parallel


async def both_receive_first(m):
    await m.receive(1 - m.rank)
    await m.send(1 - m.rank, m.get_input_activation([0]))


async def one_has_returned(m):
    await m.all_reduce(m.empty_grad(0), 0)
    if m.rank == 2:
        return m
    await m.all_reduce(m.empty_grad(1), 1)
    return m


async def collective_and_message(m):
    if m.rank == 0:
        await m.all_reduce(m.empty_grad(0), 0)
        await m.send(1, m.get_input_activation([0]))
    else:
        await m.receive(0)
        await m.all_reduce(m.empty_grad(0), 0)


async def groups_in_two_orders(m):
    if m.rank == 2:
        await m.all_reduce(m.empty_grad(1))
        return m
    groups = {1: m.group([0, 1, 2]), 0: m.group([0, 1])}
    order = [0, 1] if m.rank == 0 else [1, 0]
    for started in [groups[i].all_reduce(m.empty_grad(i)) for i in order]:
        await started


CASES = [
    (both_receive_first, 2, "deadlock: rank 0 waits for rank 1 (it receives from rank 1), and rank "
     "1 waits for rank 0 (it receives from rank 0): none of them can go first"),
    (one_has_returned, 4, "deadlock: rank 0 waits for rank 2 (it is in all_reduce of the weight "
     "gradient of layer 1), which has ended already"),
    (collective_and_message, 2, "rank 0 waits for rank 1 (it is in all_reduce of the weight "
     "gradient of layer 0), and rank 1 waits for rank 0 (it receives from rank 0)"),
    (groups_in_two_orders, 3, "rank 0 waits for rank 1 (it is in all_reduce of the weight gradient "
     "of layer 0), and rank 1 waits for rank 0 (it is in all_reduce of the weight gradient of "
     "layer 1)"),
]  # fmt: skip


@pytest.mark.parametrize("profile", ["bytes", "classic", "steps"])
@pytest.mark.parametrize("drive", [run, by_asyncio])
@pytest.mark.parametrize(("step", "ranks", "says"), CASES, ids=[c[0].__name__ for c in CASES])
def test_deadlock(step, ranks, says, drive, profile):
    with pytest.raises(Deadlock) as caught:
        drive(step, ranks, 2, 4, profile=profile)
    assert says in str(caught.value)


def test_one_message_has_room_in_classic_and_any_number_in_honest():
    async def step(m):
        for _ in range(2):
            await m.send(1 - m.rank, m.get_input_activation([0]))
        for _ in range(2):
            await m.receive(1 - m.rank)

    with pytest.raises(Deadlock, match="rank 0 waits for rank 1 .it sends to rank 1., and rank 1"):
        run(step, 2, 2, 4, profile="classic")
    run(step, 2, 2, 4, profile="bytes")


@pytest.mark.parametrize("drive", [run, by_asyncio])
@pytest.mark.parametrize(
    ("start", "says"),
    [
        (lambda m: [m.reduce_scatter, m.all_reduce][m.rank](m.empty_grad(0)), "rank 1 calls "
         "all_reduce of the weight gradient of layer 0, and rank 0 reduce_scatter of the weight "
         "gradient of layer 0, both as collective number 1"),
        (lambda m: m.all_reduce(m.empty_grad(m.rank)), "all_reduce of the weight gradient of layer "
         "1, and rank 0 all_reduce of the weight gradient of layer 0"),
        (lambda m: m.all_gather(m.load_weights(0, m.rank, 2)[m.rank]), "all_gather of the "
         "optimizer state of layer 0, and rank 0 all_gather of the weight of layer 0"),
    ],
)  # fmt: skip
def test_mismatched_collectives_stop_at_once(start, says, drive):
    async def step(m):
        await start(m)

    with pytest.raises(PuzzleError, match=says):
        drive(step, 2, 2, 4, profile="bytes")


def test_asyncio_with_other_tasks_beside_the_ranks():
    """They might still wake a rank; after a moment without any move the ranks are told."""

    async def step(m):
        other = asyncio.create_task(asyncio.sleep(60))
        try:
            await both_receive_first(m)
        finally:
            other.cancel()

    begun = time.monotonic()
    with pytest.raises(Deadlock):
        by_asyncio(step, 2, 2, 4)
    assert time.monotonic() - begun < 30


def test_a_rank_that_sleeps_a_little_is_no_deadlock():
    async def step(m):
        if m.rank == 1:
            await asyncio.sleep(0.3)
        return await data_parallel(m)

    assert outcome(by_asyncio(step, 2, 2, 4)) == outcome(run(data_parallel, 2, 2, 4))
