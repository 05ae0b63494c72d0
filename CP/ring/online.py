"""Attention over one block of keys at a time: the idea of FlashAttention, and of the ring.

A softmax needs the sum over all keys, but the sum can be taken block by block. What a query has
found so far is a `Partial`, and two of them can be merged (Milakov and Gimelshein 2018,
arXiv 1805.02867). Backward, the scores of a block are computed again instead of being kept (Dao et
al. 2022, arXiv 2205.14135).

Shapes: queries (…, S, d), keys and values (…, K, d), a mask (…, S, K), True where a query may look.

Half precision is computed in float32, as FlashAttention keeps its sums: scores, what a query has
found, and gradients. The attention itself is of the queries' type again.
"""

import math
from typing import NamedTuple

import torch


class Partial(NamedTuple):
    """What each query has found in the keys that it has seen so far; the scores are s.

    o: (…, S, d), the sum of exp(s - m) v.  m: (…, S, 1), the largest s, or -inf before the first
    key.  l: (…, S, 1), the sum of exp(s - m). The attention is o / l.
    """

    o: torch.Tensor
    m: torch.Tensor
    l: torch.Tensor  # noqa: E741


def wide(*tensors):
    """Return them in float32, or in float64 if they are: the type of everything that is summed."""
    return [tensor.to(torch.promote_types(tensor.dtype, torch.float32)) for tensor in tensors]


def scores(q, k, mask):
    """Return q k / sqrt(d), and -inf where a query may not look."""
    return (q @ k.mT / math.sqrt(q.shape[-1])).masked_fill(~mask, -math.inf)


def shift(m):
    """Return m, with 0 for a query that has seen no key: -inf minus -inf is not a number."""
    return m.masked_fill(m == -math.inf, 0.0)


def partial(q, k, v, mask):
    """Return what the queries find in this block of keys."""
    q, k, v = wide(q, k, v)
    s = scores(q, k, mask)
    m = s.amax(-1, keepdim=True)
    weights = (s - shift(m)).exp()
    return Partial(weights @ v, m, weights.sum(-1, keepdim=True))


def merge(one, other):
    """Return what the queries have found in two blocks of keys together, as a new `Partial`.

    A query may have seen no key in one of the blocks, or in both.
    """
    # BEGIN SOLUTION CP-1
    m = torch.maximum(one.m, other.m)
    a, b = (one.m - shift(m)).exp(), (other.m - shift(m)).exp()
    return Partial(a * one.o + b * other.o, m, a * one.l + b * other.l)
    # END SOLUTION


def finish(found):
    """Return the attention, and for each query log(sum of exp(s)), from which exp(s) / sum comes
    back without m and l."""
    return found.o / found.l, found.m + found.l.log()


def block_gradients(q, k, v, mask, log_sum, product, gradient):
    """Return the gradients of q, k and v that come from one block of keys, in five products.

    log_sum: (…, S, 1), the second result of `finish`, over all blocks. product: (…, S, 1), the sum
    over d of gradient * attention. gradient: (…, S, d), of the attention.

    With P = exp(scores - log_sum): dV = P^T dO, dS = P * (dO V^T - product), dQ = dS K / sqrt(d),
    and dK = dS^T Q / sqrt(d).
    """
    p = (scores(q, k, mask) - log_sum).exp()
    ds = p * (gradient @ v.mT - product) / math.sqrt(q.shape[-1])
    return ds @ k, ds.mT @ q, p.mT @ gradient


class Recomputed(torch.autograd.Function):
    """Attention on one device that keeps no scores: `Recomputed.apply(q, k, v, mask_of)`.

    mask_of(): the mask. A function, so that nobody has to keep it.
    """

    @staticmethod
    def forward(ctx, q, k, v, mask_of):
        attention, log_sum = finish(partial(q, k, v, mask_of()))
        attention = attention.to(q.dtype)
        ctx.mask_of = mask_of
        ctx.save_for_backward(q, k, v, attention, log_sum)
        return attention

    @staticmethod
    def backward(ctx, gradient):
        *saved, log_sum = ctx.saved_tensors
        q, k, v, attention, gradient = wide(*saved, gradient)
        product = (gradient * attention).sum(-1, keepdim=True)
        return *block_gradients(q, k, v, ctx.mask_of(), log_sum, product, gradient), None
