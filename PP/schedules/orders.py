"""Orders in which ranks compute: each a list of actions, as "2F0": stage 2, forward, micro-batch 0.

F forward, B backward; or B in its two halves: I, the gradient of the input, which the stage before
waits for, and W, the gradient of the weights, which nobody waits for.
"""


def interleaved(ranks, micro_batches, chunks):
    """1F1B with several stages a rank: rank r holds the stages r, r + ranks, r + 2 * ranks, ….

    Micro-batches go in rounds of `ranks`, which must divide `micro_batches`: a round passes the
    first stage of the rank, then its second, …; then the next round. Backward in the same rounds,
    the last stage of the rank first. Rank r goes forward 2 * (ranks - 1 - r) + (chunks - 1) * ranks
    times before its first pair of one forward and one backward (arXiv 2104.04473, section 2.2.2).

    Returns a list for each rank: ["0F0", "0F1", "2F0", …].
    """
    # BEGIN SOLUTION PP-4
    rounds = range(0, micro_batches, ranks)
    steps = [(c, first + k) for first in rounds for c in range(chunks) for k in range(ranks)]
    orders = []
    for rank in range(ranks):
        down = [f"{c * ranks + rank}F{i}" for c, i in steps]
        up = [f"{(chunks - 1 - c) * ranks + rank}B{i}" for c, i in steps]
        ahead = min(2 * (ranks - 1 - rank) + (chunks - 1) * ranks, len(steps))
        order = down[:ahead]
        for n in range(len(steps)):
            order += down[ahead + n : ahead + n + 1] + [up[n]]
        orders.append(order)
    return orders
    # END SOLUTION


def within_memory(ranks, micro_batches, room):
    """Your own schedule: as fast as you can, with room for few micro-batches. One stage a rank.

    F, I and W take one second each, and messages nothing. Rank r may keep `room` micro-batches at
    one time, each from the start of its F until the end of its W. (A "B" does I and W at once.)

    Returns a list for each rank: ["0F0", "0F1", "0I0", "0W0", …].
    """
    # BEGIN SOLUTION PP-5
    orders = [[] for _ in range(ranks)]
    done = {kind: [0] * ranks for kind in "FIW"}  # how many, of each stage
    while min(done["W"]) < micro_batches:
        f, i, w = (list(done[kind]) for kind in "FIW")  # what was ready when this second began
        for s in range(ranks):
            came_back = s == ranks - 1 or i[s + 1] > i[s]
            came = f[s] < micro_batches and (s == 0 or f[s - 1] > f[s])
            if i[s] < f[s] and came_back:  # first what another stage waits for
                kind = "I"
            elif came and f[s] - w[s] < room:
                kind = "F"
            elif w[s] < i[s]:  # W fills the time in which there is nothing else
                kind = "W"
            else:
                continue
            orders[s].append(f"{s}{kind}{done[kind][s]}")
            done[kind][s] += 1
    return orders
    # END SOLUTION
