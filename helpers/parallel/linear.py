"""A linear layer in parts: along its outputs (column) or along its inputs (row).

Megatron-LM writes y = x A and cuts the columns of A. torch stores the transpose, weight (out, in),
so a column-parallel layer holds rows of torch's weight.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from helpers.parallel.collectives import part_of
from helpers.parallel.operators import (
    all_gather,
    copy_to_group,
    reduce_from_group,
    reduce_scatter,
)

SEQUENCE = 1  # the dimension of (B, S, d) that sequence parallelism cuts


class ColumnParallelLinear(nn.Module):
    """This rank's outputs of a linear layer: (…, in), equal on all ranks, -> (…, out / ranks).

    whole: the layer to cut, the same on all ranks. weight: (out / ranks, in).
    sequence: x is this rank's part of the sequence, (B, S / ranks, in); y covers the whole one.

    Raises:
        ValueError: if the number of ranks does not divide the outputs.
    """

    def __init__(self, whole: nn.Linear, group: Any = None, sequence: bool = False):
        super().__init__()
        self.group, self.sequence = group, sequence
        self.weight = part_parameter(whole.weight, group, 0)
        self.bias = None if whole.bias is None else part_parameter(whole.bias, group, 0)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.sequence:
            x = all_gather(x, self.group, SEQUENCE)
        else:
            x = copy_to_group(x, self.group)
        return F.linear(x, self.weight, self.bias)


class RowParallelLinear(nn.Module):
    """A linear layer whose input is cut: (…, in / ranks) -> (…, out), equal on all ranks.

    whole: the layer to cut. weight: (out, in / ranks); bias: whole, added after the sum, because
    the sum would otherwise contain it once per rank.
    sequence: y is this rank's part of the sequence, (B, S / ranks, out). Each rank then sees the
    bias at its own positions only, so its gradient is one term of a sum: see `add_up_shared`.

    Raises:
        ValueError: if the number of ranks does not divide the inputs.
    """

    def __init__(self, whole: nn.Linear, group: Any = None, sequence: bool = False):
        super().__init__()
        self.group, self.sequence = group, sequence
        self.weight = part_parameter(whole.weight, group, 1)
        self.bias = None if whole.bias is None else nn.Parameter(whole.bias.detach().clone())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        term = F.linear(x, self.weight)
        if self.sequence:
            y = reduce_scatter(term, self.group, SEQUENCE)
        else:
            y = reduce_from_group(term, self.group)
        return y if self.bias is None else y + self.bias


def part_parameter(whole: torch.Tensor, group: Any, dim: int) -> nn.Parameter:
    """Return this rank's part of a weight, as a parameter with its own memory."""
    return nn.Parameter(part_of(whole.detach(), group, dim).clone(), whole.requires_grad)
