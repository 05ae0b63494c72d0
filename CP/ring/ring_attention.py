"""Ring attention: queries stay, keys and values travel from rank to rank.

Each rank holds the queries, keys and values of some positions. In each step it computes with the
block of keys that it has, while that block is already on its way to the next rank. After as many
steps as ranks, every query has seen every key (Liu et al. 2023, arXiv 2310.01889).
"""

import torch
import torch.distributed as dist
from online import Partial, block_gradients, finish, merge, partial, wide

from helpers.parallel.context import require_plain, visible, window


class Ring:
    """The ranks of a group in a ring: rank r sends to r + 1 and receives from r - 1.

    recorder: gets an event for each block, and one for each time this rank waits for a message.
    """

    def __init__(self, group=None, recorder=None):
        self.group, self.recorder = group, recorder
        self.rank, self.size = dist.get_rank(group), dist.get_world_size(group)
        ranks = dist.get_process_group_ranks(group or dist.group.WORLD)
        self.next, self.before = ranks[(self.rank + 1) % self.size], ranks[self.rank - 1]

    def pass_on(self, *tensors):
        """Start to send tensors to the next rank, and return a function that waits until they are
        there and returns those of the rank before. Don't change them before that."""
        tensors = [tensor.contiguous() for tensor in tensors]
        if self.size == 1:
            return lambda: tensors
        arriving = [torch.empty_like(tensor) for tensor in tensors]
        messages = [dist.P2POp(dist.isend, t, self.next, self.group) for t in tensors]
        messages += [dist.P2POp(dist.irecv, t, self.before, self.group) for t in arriving]
        works = dist.batch_isend_irecv(messages)

        def arrived():
            with self.recorder.span("wait", "message"):
                for work in works:
                    work.wait()
            return arriving

        return arrived


def block(q, k, v, mask):
    """Return the `Partial` of one block, and compute only the rows and columns that the mask
    leaves: none at all for a block of later positions."""
    rows, columns = window(mask)
    q, k, v = wide(q, k, v)
    found = Partial(
        torch.zeros_like(q), torch.full_like(q[..., :1], -torch.inf), torch.zeros_like(q[..., :1])
    )
    if rows.stop:
        some = partial(
            q[..., rows, :], k[..., columns, :], v[..., columns, :], mask[..., rows, columns]
        )
        for whole, part in zip(found, some, strict=True):
            whole[..., rows, :] = part
    return found


def block_back(q, k, v, mask, *about_queries):
    """Return the gradients of q, k and v from one block, computed for the same rows and columns."""
    rows, columns = window(mask)
    q, k, v = wide(q, k, v)
    found = [torch.zeros_like(tensor) for tensor in (q, k, v)]
    if rows.stop:
        some = block_gradients(
            q[..., rows, :],
            k[..., columns, :],
            v[..., columns, :],
            mask[..., rows, columns],
            *(tensor[..., rows, :] for tensor in about_queries),
        )
        for whole, part, where in zip(found, some, (rows, columns, columns), strict=True):
            whole[..., where, :] = part
    return found


def ring_forward(q, k, v, mask_of, ring):
    """Return the attention of this rank's queries over the keys of all ranks, as `finish` does.

    q, k, v: those of this rank's positions. mask_of(source): (…, S, K), which keys of rank `source`
    each of this rank's queries may see.

    Use `block`, `merge` and `finish`. `arrived = ring.pass_on(k, v)` starts a message, and
    `k, v = arrived()` waits for the one from the rank before; compute in between. A rank passes on
    size - 1 times, because nobody needs what would come back home.
    """
    # BEGIN SOLUTION CP-2
    found = None
    for step in range(ring.size):
        if step < ring.size - 1:
            arrived = ring.pass_on(k, v)
        part = block(q, k, v, mask_of((ring.rank - step) % ring.size))
        found = part if found is None else merge(found, part)
        if step < ring.size - 1:
            k, v = arrived()
    return finish(found)
    # END SOLUTION


def ring_backward(q, k, v, mask_of, ring, *about_queries):
    """Return the gradients of this rank's q, k and v.

    The gradients of a block's keys and values travel with them, one step behind, and each rank adds
    its own. After `ring.size` messages they are back home. They are sums, and in float32 where the
    keys are in half precision.
    """
    dq, home, last = torch.zeros_like(*wide(q)), None, ring.size - 1
    for step in range(ring.size):
        if step < last:
            arrived = ring.pass_on(k, v)
        mask = mask_of((ring.rank - step) % ring.size)
        more, *own = block_back(q, k, v, mask, *about_queries)
        dq += more
        if home:
            own = [a + b for a, b in zip(own, home(), strict=True)]
        home = ring.pass_on(*own)
        if step < last:
            k, v = arrived()
    return dq, *home()


class RingAttention(torch.autograd.Function):
    """q (B, h, S, d), k and v (B, g, S, d) of this rank's positions -> (B, h, S, d)."""

    @staticmethod
    def forward(ctx, q, k, v, mask_of, ring):
        rows = by_key_head(q, k.shape[1])
        attention, log_sum = ring_forward(rows, k, v, mask_of, ring)
        attention = attention.to(q.dtype)
        ctx.save_for_backward(rows, k, v, attention, log_sum)
        ctx.rest = mask_of, ring, q.shape[1]
        return by_query_head(attention, q.shape[1])

    @staticmethod
    def backward(ctx, gradient):
        q, k, v, attention, log_sum = ctx.saved_tensors
        mask_of, ring, heads = ctx.rest
        gradient, attention = wide(by_key_head(gradient, k.shape[1]), attention)
        product = (gradient * attention).sum(-1, keepdim=True)
        dq, dk, dv = ring_backward(q, k, v, mask_of, ring, log_sum, product, gradient)
        dq, dk, dv = (found.to(q.dtype) for found in (by_query_head(dq, heads), dk, dv))
        return dq, dk, dv, None, None


def by_key_head(q, heads):
    """(B, h, S, d) -> (B, g, S * h/g, d): the queries that share a key head, row under row."""
    return q.unflatten(1, (heads, -1)).transpose(2, 3).flatten(2, 3)


def by_query_head(rows, heads):
    """The way back: (B, g, S * h/g, d) -> (B, h, S, d)."""
    each = heads // rows.shape[1]
    return rows.unflatten(2, (-1, each)).transpose(2, 3).flatten(1, 2)


def ring_attention(ring, positions, documents=None):
    """Return a function of q, k and v that takes the place of `attend` in every layer.

    positions: for each rank of the ring, those that it holds. documents: (B, length), the number of
    the document that each token belongs to, equal on all ranks; None: one document a sequence.
    """

    def mix(q, k, v, dropout=0.0, causal=True):
        require_plain(dropout, causal)

        def mask_of(source):
            mask = visible(positions[ring.rank], positions[source], documents)
            return mask.repeat_interleave(q.shape[1] // k.shape[1], -2)

        return RingAttention.apply(q, k, v, mask_of, ring)

    return mix
