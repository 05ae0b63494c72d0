"""Blocks of a matrix that share a scale: what makes eight bits enough.

Each block is divided by a scale so that its largest number becomes the largest of the format. A
block of 1 x 128 belongs to a row of activations, 128 x 128 to weights (DeepSeek-V3, arXiv
2412.19437, section 3.3.2); 1 x 32 with a power of two as its scale is MX (arXiv 2310.10537).
"""

from dataclasses import dataclass

import torch
from formats import E4M3, Format

ROW, SQUARE, MX = (1, 128), (128, 128), (1, 32)


@dataclass(frozen=True)
class Blocks:
    """A matrix in few bits.

    codes: (R, C), what the format can say. scales: float32, one for each block, so that a number
    is its code times the scale of its block. block: its rows and columns.
    """

    codes: torch.Tensor
    scales: torch.Tensor
    block: tuple[int, int]


def tiles(x: torch.Tensor, block: tuple[int, int]) -> torch.Tensor:
    """Return x (R, C) as (R/r, r, C/c, c) for blocks of r x c, with zeros where the last ones hang
    over the edge."""
    (rows, columns), (r, c) = x.shape, block
    x = torch.nn.functional.pad(x, (0, -columns % c, 0, -rows % r))
    return x.reshape(x.shape[0] // r, r, x.shape[1] // c, c)


def whole(parts: torch.Tensor, shape: tuple[int, int]) -> torch.Tensor:
    """Return the matrix of this shape that `tiles` has cut."""
    return parts.flatten(2).flatten(0, 1)[: shape[0], : shape[1]]


def quantize(
    x: torch.Tensor, block: tuple[int, int] = ROW, to: Format = E4M3, powers: bool = False
) -> Blocks:
    """Return a float32 matrix in blocks that have a scale each.

    A scale is the largest magnitude of its block over `to.largest`, and 1 for a block of zeros.
    powers: it is the next power of two above that, so eight bits for its exponent (E8M0) will do
    and no number becomes too large.
    """
    # BEGIN SOLUTION FB-1
    parts = tiles(x, block)
    largest = parts.abs().amax((1, 3), keepdim=True)
    scales = torch.where(largest > 0, largest / to.largest, 1.0)
    if powers:
        scales = torch.exp2(torch.ceil(torch.log2(scales)))
    codes = whole(to.round(parts / scales), x.shape)
    return Blocks(codes.to(to.dtype or torch.float32), scales[:, 0, :, 0], block)
    # END SOLUTION


def restore(found: Blocks) -> torch.Tensor:
    """Return the float32 matrix that the blocks stand for."""
    # BEGIN SOLUTION FB-1
    parts = tiles(found.codes.float(), found.block)
    return whole(parts * found.scales[:, None, :, None], found.codes.shape)
    # END SOLUTION
