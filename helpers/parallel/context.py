"""Context parallelism: what every way of cutting the sequence needs.

A rank holds some positions of each sequence. `visible` is the mask between its queries and another
rank's keys, `following` the targets, which must be found before the cut, and `token_loss` and
`add_up_gradients` make the mean over the tokens of all ranks.
"""

import torch
import torch.nn.functional as F
from torch import nn

from helpers.parallel.operators import add_up

IGNORED = -100


def equal_chunks(length: int, chunks: int) -> list[torch.Tensor]:
    """Return the positions 0 to length - 1, cut into equal chunks; ValueError if they can't be."""
    if length < chunks or length % chunks:
        raise ValueError(
            f"a sequence of {length} tokens cannot be cut into {chunks} equal chunks: choose a "
            f"multiple of {chunks}"
        )
    return list(torch.arange(length).chunk(chunks))


def visible(
    queries: torch.Tensor, keys: torch.Tensor, documents: torch.Tensor | None = None
) -> torch.Tensor:
    """Return which keys each query may see: those of its document that don't come after it.

    queries, keys: positions, (S,) and (K,). documents: (B, length), the document of each token.

    Returns:
        bool, (S, K); with documents (B, 1, S, K).
    """
    mask = queries[:, None] >= keys
    if documents is None:
        return mask
    same = documents[:, queries][:, :, None] == documents[:, keys][:, None, :]
    return (mask & same)[:, None]


def require_plain(dropout: float, causal: bool) -> None:
    """Raise ValueError for what attention over a cut sequence does not do.

    Every rank would have to draw the dropout of its own part of the scores, and ranks of one seed
    draw the same; a past of keys would have to be cut over the ranks too.
    """
    if dropout or not causal:
        raise ValueError(
            f"dropout={dropout}, causal={causal}: attention over ranks that share a sequence drops "
            "nothing and is causal, so train with dropout_prob=0, and generate on one device"
        )


def window(mask: torch.Tensor) -> tuple[slice, slice]:
    """Return the rows and the columns between the first and the last True of a mask (…, S, K)."""
    mask = mask.flatten(0, -3).any(0) if mask.dim() > 2 else mask
    return _span(mask.any(1)), _span(mask.any(0))


def _span(line: torch.Tensor) -> slice:
    found = line.nonzero()
    return slice(int(found[0]), int(found[-1]) + 1) if len(found) else slice(0, 0)


def following(ids: torch.Tensor) -> torch.Tensor:
    """Return the next token of each position, -100 for the last: before the sequence is cut.

    The next token of a rank's last position is on another rank.
    """
    return F.pad(ids[:, 1:], (0, 1), value=IGNORED)


def token_loss(logits: torch.Tensor, targets: torch.Tensor, tokens: int) -> torch.Tensor:
    """Return this rank's term of the mean cross-entropy over `tokens` tokens of all its group.

    Half precision is computed in float32, in which thousands of losses can be added up.
    """
    wide = logits.to(torch.promote_types(logits.dtype, torch.float32))
    flat = wide.flatten(0, 1), targets.flatten()
    return F.cross_entropy(*flat, ignore_index=IGNORED, reduction="sum") / tokens


def add_up_gradients(model: nn.Module, replicas: int = 1) -> None:
    """Sum the gradients over all ranks, and divide by the number of data-parallel replicas.

    The ranks of one sequence each have a term of one mean: those are summed and not averaged.
    """
    gradients = [p.grad for p in model.parameters()]
    add_up(gradients, group=None)
    for gradient in gradients:
        gradient /= replicas
