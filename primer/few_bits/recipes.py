"""Train a LLaMA in any format: each recipe says what the products of its layers are rounded to.

A number is rounded and goes on as float32, so that any machine computes what a GPU would that
multiplies in that format and adds in float32. Nothing gets faster by it.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import torch
from blocks import MX, ROW, SQUARE, quantize, restore
from formats import BF16, E2M1, E4M3, E5M2, FP16, FP32, Format
from torch import nn

# Rounds a matrix whose last dimension is the one that a product adds up.
Cast = Callable[[torch.Tensor], torch.Tensor]


@dataclass(frozen=True)
class Products:
    """What the three products of a linear layer are computed with: x, W, the gradient of y, and
    what all results are rounded to."""

    inputs: Cast
    weights: Cast
    gradients: Cast
    results: Cast = BF16.round


def blocks(shape: tuple[int, int], to: Format = E4M3, powers: bool = False) -> Cast:
    """Return a cast to blocks that share a scale, and back."""
    return lambda x: restore(quantize(x, shape, to, powers))


def tensor(to: Format) -> Cast:
    """Return a cast with one scale for the whole tensor: its own largest number, now."""

    def cast(x):
        scale = x.abs().max() / to.largest
        return to.round(x / scale) * scale if scale > 0 else x

    return cast


class Delayed:
    """A cast with one scale for the tensor, from the largest number of the last few tensors.

    The largest of the tensor itself is known only when it has been computed and read once more;
    with a scale from before, it can be rounded as it is computed. What is larger than all before is
    cut off. (Micikevicius et al. 2022, arXiv 2209.05433; Transformer Engine's first recipe.)
    """

    def __init__(self, to: Format, history: int = 16):
        self.to, self.largest = to, deque(maxlen=history)

    def __call__(self, x):
        now = x.abs().max()
        scale = max(self.largest, default=now) / self.to.largest
        self.largest.append(now)
        return self.to.round(x / scale) * scale if scale > 0 else x


def same(to: Format) -> Callable[[], Products]:
    return lambda: Products(to.round, to.round, to.round, to.round)


@dataclass(frozen=True)
class Recipe:
    """How to train: the products, made anew for each layer, and what goes around them.

    scaled: the loss is multiplied by a scale (torch's `GradScaler`). master: weights are kept in
    float32, otherwise they are rounded to bf16 after each step. bits: of a number that is
    multiplied, with its share of a scale.
    """

    products: Callable[[], Products]
    bits: float
    scaled: bool = False
    master: bool = True


RECIPES = {
    "fp32": Recipe(same(FP32), 32),
    "bf16": Recipe(same(BF16), 16),
    "bf16, weights too": Recipe(same(BF16), 16, master=False),
    "fp16": Recipe(same(FP16), 16),
    "fp16, loss scaled": Recipe(same(FP16), 16, scaled=True),
    "FP8, no scales": Recipe(lambda: Products(E4M3.round, E4M3.round, E5M2.round), 8),
    "FP8, per tensor": Recipe(lambda: Products(tensor(E4M3), tensor(E4M3), tensor(E5M2)), 8),
    "FP8, per tensor, delayed": Recipe(lambda: Products(*map(Delayed, (E4M3, E4M3, E5M2))), 8),
    "FP8, blocks of 128": Recipe(lambda: Products(*map(blocks, (ROW, SQUARE, ROW))), 8 + 32 / 128),
    "MXFP8": Recipe(lambda: Products(*3 * (blocks(MX, powers=True),)), 8 + 8 / 32),
    "FP4, blocks of 16": Recipe(lambda: Products(*3 * (blocks((1, 16), E2M1),)), 4 + 32 / 16),
}


class Product(torch.autograd.Function):
    """y = x W^T, and its two gradients, each the product of two matrices that were rounded.

    Each cast gets its matrix with the dimension that the product sums up as the last one, so blocks
    lie along the sum, and a GPU could multiply codes and apply a block's scale to their result.
    """

    @staticmethod
    def forward(ctx, x, weight, by):
        ctx.save_for_backward(x, weight)
        ctx.by = by
        return by.results(by.inputs(x) @ by.weights(weight).T)

    @staticmethod
    def backward(ctx, gradient):
        (x, weight), by = ctx.saved_tensors, ctx.by
        of_x = by.gradients(gradient) @ by.weights(weight.T).T
        of_weight = by.gradients(gradient.T) @ by.inputs(x.T).T
        return by.results(of_x), by.results(of_weight), None


class FewBits(nn.Linear):
    """A linear layer that computes by a recipe; `give` gives one to those of a model."""

    products: Products

    def forward(self, x):
        y = Product.apply(x.flatten(0, -2), self.weight, self.products)
        return y.view(*x.shape[:-1], -1)


def give(net: nn.Module, recipe: Recipe) -> nn.Module:
    """Let the linear layers of a model's blocks compute by a recipe, and return the model.

    Embedding, logits, norms and attention stay in float32, as they stay in 16 or 32 bits in any
    large run.
    """
    for layer in net.model.layers:
        for module in layer.modules():
            if isinstance(module, nn.Linear):
                module.__class__, module.products = FewBits, recipe.products()
    return net


class Trainer:
    """Steps of a model by a recipe.

    share: this batch is one of so many micro-batches of a step, and its loss is divided by their
    number. All gradients are so much smaller on the way, and multiplied by it in the end (as if
    the others had the same), so in float32 nothing changes.
    """

    def __init__(self, net, optimizer, recipe: Recipe, share: int):
        self.net, self.optimizer, self.recipe, self.share = net, optimizer, recipe, share
        self.scaler = torch.amp.GradScaler(
            "cpu", init_scale=2.0**16, growth_interval=100, enabled=recipe.scaled
        )
        give(net, recipe)

    def step(self, loss: torch.Tensor) -> None:
        """Backward and update, for the loss of a batch."""
        self.optimizer.zero_grad()
        self.scaler.scale(loss / self.share).backward()
        for p in self.net.parameters():
            p.grad *= self.share
        self.scaler.step(self.optimizer)
        self.scaler.update()
        if not self.recipe.master:
            for p in self.net.parameters():
                p.data = BF16.round(p.data)
