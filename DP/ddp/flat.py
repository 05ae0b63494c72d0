"""Average gradients after backward, all in one message. Simple; nothing overlaps."""

import torch
import torch.distributed as dist


class Flat:
    """Averages the gradients of a model: build it once, call `finish` after each backward."""

    def __init__(self, model, recorder):
        self.model, self.recorder = model, recorder

    def finish(self):
        """Every rank has the mean of all ranks' gradients, in place."""
        gradients = [p.grad for p in self.model.parameters() if p.grad is not None]
        flat = torch.cat([gradient.flatten() for gradient in gradients])
        with self.recorder.span("all-reduce", bytes=flat.nbytes):
            dist.all_reduce(flat, op=dist.ReduceOp.AVG)
        parts = flat.split([gradient.numel() for gradient in gradients])
        for gradient, part in zip(gradients, parts, strict=True):
            gradient.copy_(part.view_as(gradient))
