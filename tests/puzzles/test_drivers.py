"""The same step gives the same numbers whoever drives the ranks, in whatever order."""

import asyncio
import random

import eight
import part1
import part3
import part4
import pytest
from cluster import outcome, run
from cluster.driver import Driver
from cluster.tape import replay, tape_of
from steps import by_asyncio

STEPS = [
    (part1.part1_training_loop, (8, 6, 16, 1)),
    (part3.part3_training_loop, (4, 8, 32, 2)),
    (part4.part4_training_loop, (8, 6, 64, 3)),
    (eight.pipeline_sharded, (16, 4, 4)),
    (eight.gpipe, (4, 8, 4)),
]
PROFILES = ["bytes", "classic", "steps"]


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize(("step", "case"), STEPS, ids=lambda x: getattr(x, "__name__", ""))
def test_whoever_runs_the_ranks_and_in_whatever_order(step, case, profile, monkeypatch):
    expected = run(step, *case, profile=profile, keep_tape=True)
    found = [
        replay(tape_of(expected), case[:3], profile=profile),
        by_asyncio(step, *case, profile=profile),
        by_asyncio(step, *case, profile=profile, wrap=asyncio.ensure_future),
    ]
    place = random.Random(0).randint
    monkeypatch.setattr(
        Driver, "wake", lambda self, rank: self.line.insert(place(0, len(self.line)), rank)
    )
    found += [run(step, *case, profile=profile) for _ in range(3)]
    for models in found:
        assert outcome(models) == outcome(expected)
        assert [model.log for model in models] == [model.log for model in expected]


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


def test_names_of_the_lab_below_the_model():
    async def step(m):
        if m.rank == 0:
            await m.dist.send(0, 1, (m.get_input_activation([0]), m.time))
        else:
            x, when = await m.dist.receive(0, 1)
            assert x.samples == {0} and when == m.time
        await m.send(dest=1 - m.rank, v=m.load_weights(0, shard=1, num_shards=2)[0])
        assert (await (m.recv if m.rank else m.receive)(source=1 - m.rank)).shards == {1}
        grad, when = await m.dist.all_reduce(m.rank, m.empty_grad(0), m.time)
        assert when == m.time > 0 and grad.layer == 0
        grad, _ = await m.dist.reduce_scatter(m.rank, grad, m.time)
        grad, _ = await m.dist.all_gather(m.rank, grad, m.time)
        assert grad.is_complete()
        return m

    run(step, 2, 1, 1)
