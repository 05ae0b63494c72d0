"""Sequence parallelism: cut the activations between tensor-parallel layers along the sequence.

Otherwise every rank would compute and keep norms, residuals and dropout for the whole sequence.
The communication volume stays: an all-gather and a reduce-scatter together send what an all-reduce
sends.
Korthikanti et al. 2022, arXiv 2205.05198.
"""

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import nn

from helpers.parallel.collectives import add_up
from helpers.parallel.linear import SEQUENCE
from helpers.parallel.operators import gather_from_group, split_to_group


def sequence_parallel(
    blocks: Iterable[nn.Module], group: Any = None, ends_here: bool = True
) -> None:
    """Split the sequence before the first block and gather it after the last one.

    blocks: modules whose first argument and result are hidden states (B, S, d), in order, of a
        model that was cut with sequence=True. S must be a multiple of the number of ranks.
    ends_here: what follows the last block needs the whole sequence, and computes the same on every
        rank. False: a column-parallel layer follows, which gathers the sequence itself.
    """
    blocks = list(blocks)

    def split(module: nn.Module, args: tuple) -> tuple:
        return split_to_group(args[0], group, SEQUENCE), *args[1:]

    def gather(module: nn.Module, args: tuple, y: torch.Tensor) -> torch.Tensor:
        return gather_from_group(y, group, SEQUENCE)

    blocks[0].register_forward_pre_hook(split)
    if ends_here:
        blocks[-1].register_forward_hook(gather)


def add_up_shared(model: nn.Module, group: Any, between: Callable[[str], bool]) -> None:
    """Sum the gradients of the weights that work on parts of the sequence, over all ranks.

    A norm sees this rank's positions only, so its gradient is one term of the sum; without the sum
    the ranks' copies drift apart. Call it once, after backward and before the optimizer's step.
    between: returns whether a parameter of this name is such a weight: whole, applied to parts.
    """
    shared = [p for name, p in model.named_parameters() if between(name)]
    add_up([p.grad for p in shared if p.grad is not None], group)
