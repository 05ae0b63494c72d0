"""A loss scale that finds itself: as large as the gradients allow.

fp16 has no number between 0 and 6e-8, and many gradients lie there. If the loss is multiplied by a
large number, so are all gradients, and dividing them in float32 brings back what they were. Too
large a number makes some of them infinite. (Micikevicius et al. 2017, arXiv 1710.03740.)
"""

import torch


class LossScale:
    """The number that the loss is multiplied by, and what becomes of it.

    scale: at the start. patience: good steps after which it doubles.
    """

    def __init__(self, scale: float = 2.0**16, patience: int = 2000):
        self.scale, self.patience = scale, patience
        self.good = 0  # steps since it last changed

    def step(self, optimizer: torch.optim.Optimizer) -> bool:
        """Take a step of the optimizer with the gradients of the scaled loss; return whether it
        was taken.

        The gradients (float32) are divided by the scale, in place. If one of them isn't finite,
        the weights stay as they are and the scale is halved. After `patience` steps without that,
        it doubles. Either way the counting starts again.
        """
        parameters = [p for group in optimizer.param_groups for p in group["params"]]
        gradients = [p.grad for p in parameters if p.grad is not None]
        for gradient in gradients:
            gradient /= self.scale
        if not all(gradient.isfinite().all() for gradient in gradients):
            self.scale, self.good = self.scale / 2, 0
            return False
        optimizer.step()
        self.good += 1
        if self.good == self.patience:
            self.scale, self.good = 2 * self.scale, 0
        return True
