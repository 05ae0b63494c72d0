"""The training loop, by hand: what every script of this lab repeats, without its flags and traces.

Lesson 01 uses it and nothing else does, so the other lessons run whether or not it's written.
"""

from collections.abc import Iterable

import torch
from torch import nn

from simplellm.losses import causalLLMLoss


def train(
    model: nn.Module,
    batches: Iterable[torch.Tensor],
    optimizer: torch.optim.Optimizer,
    pieces: int = 1,
) -> list[float]:
    """Take one optimizer step for each batch, and return the loss of each batch as a number.

    model: ids (B, S) -> logits (B, S, vocabulary); its parameters may still hold the gradients of
    earlier work.
    batches: token ids (B, S). Take as many steps as there are batches.
    pieces: cut each batch along its rows into so many equal pieces, and take them through forward
    and backward one after the other (gradient accumulation). The step and the loss are those of the
    whole batch, whatever `pieces` is. It divides B.

    `causalLLMLoss(logits, ids, vocabulary)` is the mean loss of the tokens in `ids`.
    """
    # BEGIN SOLUTION TR-1
    losses = []
    for batch in batches:
        optimizer.zero_grad()
        of_batch = 0.0
        for piece in batch.chunk(pieces):
            logits = model(piece)
            loss = causalLLMLoss(logits, piece, logits.shape[-1]) / pieces
            loss.backward()
            of_batch += loss.item()
        optimizer.step()
        losses.append(of_batch)
    return losses
    # END SOLUTION
