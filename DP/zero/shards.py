"""Parameters as one flat tensor, of which each rank owns one part."""

from itertools import accumulate

import torch
import torch.distributed as dist
from torch import nn


class Shards:
    """The parameters of one unit of a model: a block, the embedding, the head.

    whole: all of them, concatenated and padded so that the ranks' parts are equally long; the
    parameters are views of it. mine: this rank's part, which its optimizer updates.
    own_copy: `mine` has its own memory, so that `whole` can be freed (ZeRO-3).
    group: the ranks that share them; None means all.
    """

    def __init__(self, parameters, recorder, own_copy=False, group=None):
        self.parameters, self.recorder, self.group = list(parameters), recorder, group
        self.rank, self.size = dist.get_rank(group), dist.get_world_size(group)
        lengths = [p.numel() for p in self.parameters]
        self.starts = [0, *accumulate(lengths)][:-1]
        length = -(-sum(lengths) // self.size)  # of a rank's part: rounded up
        self.whole = self.parameters[0].data.new_zeros(length * self.size)
        for p, view in zip(self.parameters, self.views(self.whole), strict=True):
            view.copy_(p.data)
            p.data = view
        dist.broadcast(self.whole, group=group, group_src=0)  # the same weights everywhere
        self.bytes = self.whole.nbytes
        part = self.whole.chunk(self.size)[self.rank]
        self.mine = nn.Parameter(part.clone() if own_copy else part)

    def views(self, flat):
        """Return views of a flat tensor, one per parameter and in its shape."""
        pairs = zip(self.starts, self.parameters, strict=True)
        return [flat[start : start + p.numel()].view(p.shape) for start, p in pairs]

    def average(self):
        """Leave this rank's part of the mean gradient in `mine.grad`, and free the rest.

        1. Copy the gradients into one flat tensor of zeros, as long as `whole`, and set each
           `p.grad` to None. A parameter without a gradient keeps its zeros.
        2. Reduce-scatter it, `dist.reduce_scatter(mine, parts, op=dist.ReduceOp.AVG,
           group=self.group)`, inside `self.recorder.span("reduce-scatter", bytes=flat.nbytes)`.
        3. Put the part into `mine.grad`. If there is one already, add to it.
        """
        # BEGIN SOLUTION DP-5
        flat = torch.zeros_like(self.whole, device=self.mine.device)
        for p, view in zip(self.parameters, self.views(flat), strict=True):
            if p.grad is not None:
                view.copy_(p.grad)
                p.grad = None
        part = torch.empty_like(self.mine)
        with self.recorder.span("reduce-scatter", bytes=flat.nbytes):
            parts = list(flat.chunk(self.size))
            dist.reduce_scatter(part, parts, op=dist.ReduceOp.AVG, group=self.group)
        self.mine.grad = part if self.mine.grad is None else self.mine.grad + part
        # END SOLUTION

    def gather(self):
        """Fill `whole` from the parts of all ranks.

        `dist.all_gather(parts, self.mine.data, group=self.group)` writes into the tensors of a
        list, so give it views of `whole`, inside `self.recorder.span("all-gather",
        bytes=self.bytes)`.
        """
        self.whole.untyped_storage().resize_(self.bytes)  # allocate again if it was freed
        # BEGIN SOLUTION DP-5
        with self.recorder.span("all-gather", bytes=self.bytes):
            dist.all_gather(list(self.whole.chunk(self.size)), self.mine.data, group=self.group)
        # END SOLUTION

    def free(self):
        """Free the memory of the whole parameters; their names and shapes stay."""
        self.whole.untyped_storage().resize_(0)

    @property
    def is_whole(self):
        return self.whole.untyped_storage().nbytes() > 0
