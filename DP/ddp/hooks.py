"""Average each gradient as soon as backward has computed it: it overlaps, in many small messages.

All ranks must start their all-reduces in the same order; autograd calls hooks in the order of the
graph, which is the same on all ranks as long as all compute the same.
"""

from helpers.parallel.overlap import start_mean


class Hooks:
    """Averages the gradients of a model: build it once, call `finish` after each backward."""

    def __init__(self, model, recorder):
        self.recorder = recorder
        self.started = []  # of this backward: what to wait for
        for p in model.parameters():
            if p.requires_grad:
                p.register_post_accumulate_grad_hook(self.start)

    def start(self, p):
        """Autograd calls this with a parameter whose gradient is complete."""
        self.started.append(start_mean(p.grad, self.recorder))

    def finish(self):
        """Every rank has the mean of all ranks' gradients, in place."""
        for mean in self.started:
            mean.wait()
        self.started.clear()
