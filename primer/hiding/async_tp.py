"""Tensor parallelism whose messages travel while it computes.

With sequence parallelism a rank has some rows of X and some columns of W. Before a product the rows
of all ranks are gathered, and after the next one their sums are scattered (lesson 14). Both can be
cut into as many pieces as ranks, which go around in a ring: a piece travels while another one is
multiplied. (Wang et al. 2023, ASPLOS; torch calls it async tensor parallelism.)
"""

import torch
import torch.distributed as dist


class Ring:
    """Ranks in a ring: each sends to the next one and receives from the one before.

    rank: a `Rank` or `Paper`. seconds: of the product of one piece, on paced ranks.
    """

    def __init__(self, rank, seconds=0.0):
        self.rank, self.seconds = rank, seconds
        self.number, self.size = rank.number, rank.size

    def pass_on(self, x):
        """Start to send x to the next rank, and return a function that waits until that's done and
        returns what the rank before has sent. Don't change x before that."""
        x = x.contiguous()

        def post():
            arriving = torch.empty_like(x)
            after, before = (self.number + 1) % self.size, (self.number - 1) % self.size
            there, here = dist.P2POp(dist.isend, x, after), dist.P2POp(dist.irecv, arriving, before)
            return dist.batch_isend_irecv([there, here]), arriving

        return self.rank.send(x.nbytes, post, like=x)

    def product(self, a, b):
        """Return a b."""
        return self.rank.compute(self.seconds, torch.matmul, a, b)


def gathered_product(x, w, ring):
    """Return X w for the rows X of all ranks, in their order, (size * s, f).

    x: (s, d), this rank's rows. w: (d, f), this rank's columns. In each step: pass on the rows that
    you have (not in the last step), multiply them with `ring.product`, and only then wait for the
    next ones. Each rank passes on size - 1 times.
    """
    # BEGIN SOLUTION HM-1
    found = [None] * ring.size
    for step in range(ring.size):
        if step < ring.size - 1:
            arrived = ring.pass_on(x)
        found[(ring.number - step) % ring.size] = ring.product(x, w)
        if step < ring.size - 1:
            x = arrived()
    return torch.cat(found)
    # END SOLUTION


def scattered_product(y, w, ring):
    """Return this rank's rows of the sum over all ranks of y w, (s, d).

    y: (size * s, f), all rows, in the order of their ranks; w: (f, d). Both differ from rank to
    rank. Here the sums travel: a rank begins with the rows of the rank before it, and adds to what
    arrives its own product for the same rows. Its own rows come last, with all others' products in
    them. Multiply while a sum is on its way.
    """
    rows = y.chunk(ring.size)
    # BEGIN SOLUTION HM-1
    arrived = None
    for step in range(ring.size):
        total = ring.product(rows[(ring.number - step - 1) % ring.size], w)
        if arrived:
            total = total + arrived()
        if step < ring.size - 1:
            arrived = ring.pass_on(total)
    return total
    # END SOLUTION


def all_rows(x, ring):
    """Gather without computing: (s, d) -> (size * s, d)."""
    whole = x.new_empty(ring.size * len(x), *x.shape[1:])
    dist.all_gather_into_tensor(whole, x.contiguous())
    return whole


class Product(torch.autograd.Function):
    """One of the two products; the gradient of its first factor is the other product."""

    @staticmethod
    def forward(ctx, x, w, ring, product, other):
        ctx.save_for_backward(x, w)
        ctx.ring, ctx.other = ring, other
        return product(x, w, ring)

    @staticmethod
    def backward(ctx, gradient):
        (x, w), ring = ctx.saved_tensors, ctx.ring
        rows = max(len(x), len(gradient))  # one of them has all rows, and the other this rank's
        left, right = (t if len(t) == rows else all_rows(t, ring) for t in (x, gradient))
        return ctx.other(gradient, w.T, ring), left.T @ right, None, None, None


def mlp(x, up, down, ring):
    """A feed-forward network of which each rank has some columns of `up` and rows of `down`."""
    inner = Product.apply(x, up, ring, gathered_product, scattered_product).relu()
    return Product.apply(inner, down, ring, scattered_product, gathered_product)
