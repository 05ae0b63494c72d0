"""A step gives the same numbers whoever drives the ranks, and a deadlock is told in a sentence."""

import asyncio

import eight
import lib
import part0
import part1
import part3
import part4
import pytest
from cluster import PuzzleError, outcome, run
from steps import by_asyncio, data_parallel, load_all, own

from tests.said import said

PROFILES = ["bytes", "classic", "steps"]


async def both_receive_first(m):
    await m.receive(1 - m.rank)
    await m.send(1 - m.rank, m.get_input_activation([0]))


async def one_has_returned(m):
    await m.all_reduce(m.empty_grad(0), 0)
    if m.rank == 2:
        return m
    await m.all_reduce(m.empty_grad(1), 1)
    return m


async def groups_in_two_orders(m):
    if m.rank == 2:
        await m.all_reduce(m.empty_grad(1))
        return m
    groups = {1: m.group([0, 1, 2]), 0: m.group([0, 1])}
    order = [0, 1] if m.rank == 0 else [1, 0]
    for started in [groups[i].all_reduce(m.empty_grad(i)) for i in order]:
        await started


async def two_messages_first(m):
    for _ in range(2):
        await m.send(1 - m.rank, m.get_input_activation([0]))
    for _ in range(2):
        await m.receive(1 - m.rank)


CASES = [
    (both_receive_first, 2, "deadlock: rank 0 waits for rank 1 (it receives from rank 1), and rank "
     "1 waits for rank 0 (it receives from rank 0): none of them can go first"),
    (one_has_returned, 4, "deadlock: rank 0 waits for rank 2 (it is in all_reduce of the weight "
     "gradient of layer 1), which has ended already"),
    (groups_in_two_orders, 3, "rank 0 waits for rank 1 (it is in all_reduce of the weight gradient "
     "of layer 0), and rank 1 waits for rank 0 (it is in all_reduce of the weight gradient of "
     "layer 1)"),
    (two_messages_first, 2, "rank 0 waits for rank 1 (it sends to rank 1), and rank 1"),
]  # fmt: skip


@pytest.mark.parametrize("drive", [run, by_asyncio])
@pytest.mark.parametrize(("step", "ranks", "says"), CASES, ids=[c[0].__name__ for c in CASES])
def test_deadlock(step, ranks, says, drive):
    for profile in PROFILES:
        if (step, profile) == (two_messages_first, "bytes"):  # there is room for any number
            drive(step, ranks, 2, 4, profile=profile)
            continue
        assert says in said(drive, step, ranks, 2, 4, profile=profile, error=PuzzleError)


def test_asyncio_with_other_tasks_beside_the_ranks():
    """They might still wake a rank; after a moment without any move the ranks are told."""

    async def step(m):
        other = asyncio.create_task(asyncio.sleep(60))
        try:
            await both_receive_first(m)
        finally:
            other.cancel()

    assert CASES[0][2] in said(by_asyncio, step, 2, 2, 4, error=PuzzleError)


def test_a_rank_that_sleeps_a_little_is_no_deadlock():
    async def step(m):
        if m.rank == 1:
            await asyncio.sleep(0.3)
        return await data_parallel(m)

    assert outcome(by_asyncio(step, 2, 2, 4)) == outcome(run(data_parallel, 2, 2, 4))


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize(
    ("step", "case"),
    [
        (part0.train_ddp, (4, 3, 32, 2)),
        (part1.part1_training_loop, (4, 2, 4, 1)),  # more ranks than layers
        (part3.part3_training_loop, (4, 8, 32, 2)),
        (part4.part4_training_loop, (8, 6, 64, 3)),
        (part4.part4_training_loop, (4, 2, 4, 1)),
        (part4.part4_training_loop, (1, 2, 4, 1)),
        (eight.pipeline_sharded, (16, 4, 4)),
    ],
)
def test_whoever_runs_the_ranks_and_in_whatever_order(step, case, profile):
    expected = run(step, *case, profile=profile)
    for models in (
        by_asyncio(step, *case, profile=profile),
        by_asyncio(step, *case, profile=profile, wrap=asyncio.ensure_future),
    ):
        assert outcome(models) == outcome(expected)
        assert [model.log for model in models] == [model.log for model in expected]


def test_calls_below_the_models_return_the_value_and_the_time():
    async def step(m):
        load_all(m)
        own(m)
        G = m.grad_weights
        if m.rank == 0:
            await m.dist.send(0, 1, (m.get_input_activation([0]), m.time))
        else:
            found, when = await m.dist.receive(0, 1)
            assert (found.samples, when) == ({0}, m.time)
        G[0], when = await m.dist.all_reduce(m.rank, G[0], m.time)
        assert G[0].samples == {0, 1} and when == m.time > 0
        G[1], when = await m.dist.reduce_scatter(m.rank, G[1], m.time)
        assert (G[1].shards, G[1].num_shards, when) == ({m.rank}, 2, m.time)
        G[1], when = await m.dist.all_gather(m.rank, G[1], m.time)
        assert G[1].is_complete() and when == m.time
        return m

    assert [model.rank for model in by_asyncio(step, 2, 2, 2)] == [0, 1]


def test_values_and_constants_of_the_lab():
    assert (lib.HIDDEN_SIZE, lib.BLOCK_SIZE) == (4096, 1024)
    assert (lib.DATATYPE, lib.BYTES_PER_ELEMENT) == ("float16", 2)
    for kind in (lib.Weight, lib.OptState):
        part = kind(3, 8, 1).shard(1, 2)
        assert (part.layer, part.step, part.shards, part.num_shards) == (3, 1, {1}, 2)
        assert not part.is_complete() and part.combine(kind(3, 8, 1).shard(0, 2)).is_complete()
    both = lib.WeightGrad(0, 4, [1], 4) + lib.WeightGrad(0, 4, [2], 4)
    assert both.samples == {1, 2} and both.memory() == 4096 * 4096


def test_communication_as_tasks_of_asyncio():
    """Some write create_task or gather around messages, so that neither comes first."""

    async def step(m):
        x = m.get_input_activation([m.rank])
        _, got = await asyncio.gather(m.send(1 - m.rank, x), m.receive(1 - m.rank))
        task = asyncio.create_task(m.receive(1 - m.rank))
        await m.send(1 - m.rank, got)
        assert (await task).samples == {m.rank}
        return m

    for profile in PROFILES:
        by_asyncio(step, 2, 1, 2, profile=profile)
