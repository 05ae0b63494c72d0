"""The eight cases by the rules of the LLM Training Puzzles: their numbers, our solutions."""

import eight
import pytest
from cluster import outcome, run
from steps import finish, layers_of

# Start of the last event, of the puzzles' published solutions; `eight` has end and peak memory.
STARTS = {
    "basic": 16.5,
    "accumulation": 16.5,
    "ddp": 5.1,
    "weight_sharded": 19.9,
    "fully_sharded": 19.9,
    "pipeline": 66.9,
    "gpipe": 33.3,
    "pipeline_sharded": 15.5,
}


@pytest.mark.parametrize("name", STARTS)
def test_our_solutions_take_the_published_steps_and_no_more_memory(name):
    ranks, layers, samples, steps, memory = eight.CASES[name]
    found = outcome(run(getattr(eight, name), ranks, layers, samples, profile="steps"))
    assert found.start_of_last == pytest.approx(STARTS[name], abs=1e-9)
    assert found.end == found.time == pytest.approx(steps, abs=1e-9)
    assert found.memory <= memory
    assert found.memory == memory or name not in ("basic", "accumulation")


# The published solutions free late, or never, some of what ours free at once: with that kept too,
# the memory is theirs to the last digit.


def load_shards(m):
    W, S, *_ = m.storage()
    for i in layers_of(m):
        W[i], S[i] = m.load_weights(i, m.rank, m.world_size)


async def sharded(m, keep_last, reduce_late):
    load_shards(m)
    W, _, A, E, G = m.storage()
    n = m.num_layers
    A[0] = m.get_input_activation([m.rank])
    for i in layers_of(m):
        W[i, 0] = await m.all_gather(W[i], i)
        A[i + 1] = m.forward(i, A[i], W[i, 0])
        del W[i, 0]
    E[n] = m.loss(A[n])
    if not keep_last:
        del A[n]
    for i in reversed(layers_of(m)):
        W[i, 0] = await m.all_gather(W[i], i)
        G[i], E[i] = m.backward(i, A[i], E[i + 1], W[i, 0])
        if not reduce_late:
            G[i] = await m.reduce_scatter(G[i], i)
        del E[i + 1], A[i], W[i, 0]
    for i in layers_of(m):
        if reduce_late:
            G[i] = await m.all_reduce(G[i], i)
        finish(m, [i])
    return m


async def weight_sharded(m):
    return await sharded(m, True, True)


async def fully_sharded(m):
    return await sharded(m, False, False)


def mine_of(m):
    each = m.num_layers // m.world_size
    return [m.rank * each + i for i in range(each)]


async def gpipe(m):
    W, S, A, E, G = m.storage()
    mine = mine_of(m)
    top = mine[-1] + 1
    for i in mine:
        W[i], S[i] = m.load_weights(i)
    for b in range(4):
        if m.rank:
            A[mine[0], b] = await m.receive(m.rank - 1)
        else:
            A[0, b] = m.get_input_activation([b])
        for i in mine:
            A[i + 1, b] = m.forward(i, A[i, b], W[i])
        if m.rank < m.world_size - 1:
            await m.send(m.rank + 1, A[top, b])
    for b in range(4):
        if m.rank == m.world_size - 1:
            E[top, b] = m.loss(A[top, b])
        else:
            E[top, b] = await m.receive(m.rank + 1)
        for i in reversed(mine):
            G[i, b], E[i, b] = m.backward(i, A[i, b], E[i + 1, b], W[i])
            del E[i + 1, b], A[i, b]
        if m.rank:
            await m.send(m.rank - 1, E[mine[0], b])
    for i in reversed(mine):
        for b in range(4):
            G[i] = G[i] + G[i, b] if b else G[i, 0]
            del G[i, b]
        finish(m, [i])
    return m


@pytest.mark.parametrize("step", [weight_sharded, fully_sharded, gpipe])
def test_the_published_memory_to_all_digits(step):
    ranks, layers, samples, _, memory = eight.CASES[step.__name__]
    assert outcome(run(step, ranks, layers, samples, profile="steps")).memory == memory
