"""Training steps for the tests, in a short style of their own."""

import asyncio

from cluster import Dist, Model


def by_asyncio(step, ranks, layers, samples, *more, profile=None, wrap=lambda coroutine: coroutine):
    """Run a step as the lab's own scripts do it."""

    async def main():
        dist = Dist(ranks, profile)
        models = [Model(rank, dist, layers, samples) for rank in range(ranks)]
        return await asyncio.gather(*(wrap(step(model, *more)) for model in models))

    return asyncio.run(main())


def layers_of(m):
    return range(m.num_layers)


def share(m):
    """The samples of this rank."""
    n = m.global_batch_size // m.world_size
    return range(n * m.rank, n * (m.rank + 1))


def load_all(m):
    m.load_all(layers_of(m))


def there_and_back(m, samples):
    """Forward and backward of some samples; the gradient of layer l goes to G[l] or is added."""
    W, _, A, E, G = m.storage()
    A[0] = m.get_input_activation(samples)
    for i in layers_of(m):
        A[i + 1] = m.forward(i, A[i], W[i])
    E["e"] = m.loss(A[m.num_layers])
    del A[m.num_layers]
    for i in reversed(layers_of(m)):
        g, e = m.backward(i, A[i], E["e"], W[i])
        E["e"] = e
        G[i] = G[i] + g if i in G else g
        del A[i]
    del E["e"]


def own(m):
    there_and_back(m, share(m))


async def reduce(m):
    for i in layers_of(m):
        m.grad_weights[i] = await m.all_reduce(m.grad_weights[i], i)


def finish(m):
    m.update_all(layers_of(m))


async def data_parallel(m):
    """The smallest right step on any number of ranks."""
    load_all(m)
    own(m)
    await reduce(m)
    finish(m)
    return m
