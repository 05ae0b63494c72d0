"""The same step gives the same numbers whoever drives the ranks, in whatever order."""

import asyncio

import eight
import part1
import part3
import part4
import pytest
from cluster import outcome, run
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
def test_whoever_runs_the_ranks_and_in_whatever_order(step, case, profile):
    expected = run(step, *case, profile=profile)
    found = [
        by_asyncio(step, *case, profile=profile),
        by_asyncio(step, *case, profile=profile, wrap=asyncio.ensure_future),
    ]
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
