"""The eight cases, with everything kept that the puzzles' own published solutions keep.

What they free late or never shows in their memory: these steps show the same numbers.
"""

from steps import finish, layers_of, load_all


def all_forward(m, samples):
    W, _, A, *_ = m.storage()
    A[0] = m.get_input_activation(samples)
    for i in layers_of(m):
        A[i + 1] = m.forward(i, A[i], W[i])


def all_back(m):
    """The gradient of the input stays, as does what A holds beyond the last layer."""
    W, _, A, E, G = m.storage()
    n = m.num_layers
    E[n] = m.loss(A[n])
    for i in reversed(layers_of(m)):
        G[i], E[i] = m.backward(i, A[i], E[i + 1], W[i])
        del E[i + 1], A[i]


async def basic(m):
    load_all(m)
    all_forward(m, range(4))
    W, _, A, E, G = m.storage()
    n = m.num_layers
    E[n] = m.loss(A[n])
    del A[n]
    for i in reversed(layers_of(m)):
        G[i], E[i] = m.backward(i, A[i], E[i + 1], W[i])
        del E[i + 1], A[i]
    del E[0]
    finish(m)
    return m


async def accumulation(m):
    load_all(m)
    W, _, A, E, G = m.storage()
    n = m.num_layers
    for r in range(4):
        all_forward(m, [r])
        E[n] = m.loss(A[n])
        del A[n]
        for i in reversed(layers_of(m)):
            G[i, r], E[i] = m.backward(i, A[i], E[i + 1], W[i])
            G[i] = G[i] + G[i, r] if r else G[i, r]
            del E[i + 1], A[i], G[i, r]
        del E[0]
    finish(m)
    return m


async def ddp(m):
    load_all(m)
    all_forward(m, [m.rank])
    all_back(m)
    G = m.storage()[4]
    for i in layers_of(m):
        G[i] = await m.all_reduce(G[i], i)
        finish(m, [i])
    return m


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


async def pipeline(m):
    W, S, A, E, G = m.storage()
    mine = mine_of(m)
    for i in mine:
        W[i], S[i] = m.load_weights(i)
    if m.rank:
        A[mine[0]] = await m.receive(m.rank - 1)
    else:
        A[0] = m.get_input_activation(range(4))
    for i in mine:
        A[i + 1] = m.forward(i, A[i], W[i])
    if m.rank == m.world_size - 1:
        E[i + 1] = m.loss(A[i + 1])
    else:
        await m.send(m.rank + 1, A[i + 1])
        E[i + 1] = await m.receive(m.rank + 1)
    for i in reversed(mine):
        G[i], E[i] = m.backward(i, A[i], E[i + 1], W[i])
        del E[i + 1], A[i]
    if m.rank:
        await m.send(m.rank - 1, E[i])
    finish(m, mine)
    return m


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


async def pipeline_sharded(m):
    W, S, A, E, G = m.storage()
    mine = m.rank % 4
    for i in layers_of(m):
        W[i, 0], S[i] = m.load_weights(i, m.rank, m.world_size)
    for i in layers_of(m):
        if i == mine:
            A[i] = await m.receive(m.rank - 1) if mine else m.get_input_activation([m.rank // 4])
        W[i] = await m.all_gather(W[i, 0], i)
        if i == mine:
            A[i + 1] = m.forward(i, A[i], W[i])
        del W[i]
        if i == mine == 3:
            E[4] = m.loss(A[4])
        elif i == mine:
            await m.send(m.rank + 1, A[i + 1])
    for i in reversed(layers_of(m)):
        if i == mine and mine != 3:
            E[i + 1] = await m.receive(m.rank + 1)
        W[i] = await m.all_gather(W[i, 0], i)
        if i == mine:
            G[i], E[i] = m.backward(i, A[i], E[i + 1], W[i])
            del E[i + 1], A[i]
            G[i] = await m.reduce_scatter(G[i], i)
        else:
            G[i] = await m.reduce_scatter(m.empty_grad(i), i)
        del W[i]
        if i == mine and mine:
            await m.send(m.rank - 1, E[i])
    for i in layers_of(m):
        W[i], S[i] = m.update(i, G[i], W[i, 0], S[i])
        m.set_final_weight(i, W[i])
    return m
