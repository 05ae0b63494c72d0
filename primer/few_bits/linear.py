"""A linear layer whose three products have both factors in eight bits.

Forward is y = x W^T, backward dx = g W and dW = g^T x. In each, a sum runs over what both factors
share: features in, features out, tokens. Blocks must lie along that sum, because then a block's
scale is the same for all terms of a part of it and can be applied to the part's result.
"""

import torch
from blocks import ROW, SQUARE, Blocks, quantize


def product(a: Blocks, b: Blocks) -> torch.Tensor:
    """Return a b^T as float32, for a (M, K) and b (N, K) in blocks that are 128 columns wide.

    The codes of 128 columns are multiplied; then the scales of these blocks are applied, and the
    result is added to those before it in float32. This is how DeepSeek-V3 keeps its sums exact
    (arXiv 2412.19437, section 3.3.2), for a Hopper GPU adds up FP8 products in about 14 bits.
    """
    left, right = (m.codes.float().split(ROW[1], dim=1) for m in (a, b))
    total = torch.zeros(len(a.codes), len(b.codes))
    for number, (x, y) in enumerate(zip(left, right, strict=True)):
        total += x @ y.T * a.spread()[:, number, None] * b.spread()[:, number]
    return total


class Linear8(torch.autograd.Function):
    """y = x W^T: x (tokens, in) and W (out, in) in float32, all products in E4M3.

    Weights have blocks of 128 x 128, so that those of W^T are the same; x and the gradient of y
    have blocks of 1 x 128 along the sum that they're in.
    """

    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return product(quantize(x, ROW), quantize(weight, SQUARE))

    @staticmethod
    def backward(ctx, gradient):
        x, weight = ctx.saved_tensors
        of_x = product(quantize(gradient, ROW), quantize(weight.T, SQUARE))
        of_weight = product(quantize(gradient.T, ROW), quantize(x.T, ROW))
        return of_x, of_weight
