"""The model of profile_ddp.py: torch.nn.Transformer, told to predict the next vector."""

from collections import namedtuple

import torch
from torch import nn

# layers: of the encoder, and of the decoder. hidden: numbers in between. items: of the data.
Size = namedtuple("Size", "width heads layers hidden items")
# "lab" is torch.nn.Transformer() as it comes: Vaswani et al. 2017 (arXiv 1706.03762), table 3.
SIZES = {"small": Size(64, 4, 2, 256, 256), "lab": Size(512, 8, 6, 2048, 2048)}


class Forecaster(nn.Module):
    """Predicts each vector of a target from its source, and from the vectors before it."""

    def __init__(self, size, width=None):
        super().__init__()
        width = width or size.width
        if width % size.heads:
            raise ValueError(
                f"vectors of {width} numbers cannot be cut into {size.heads} heads: choose a last "
                f"number of --src-shape and --tgt-shape that {size.heads} divides"
            )
        self.transformer = nn.Transformer(
            width, size.heads, size.layers, size.layers, size.hidden, batch_first=True
        )

    def forward(self, source, target):
        """(B, S, E) and (B, T, E) give (B, T, E): at place t a prediction of target[:, t].

        The decoder must not see what it predicts. So it reads the target one place later, with
        zeros in the first place (it is *shifted*); and place t attends to places 0 to t only (a
        causal *mask*: nn.Transformer.generate_square_subsequent_mask).
        """
        # BEGIN SOLUTION PF-5
        start = torch.zeros_like(target[:, :1])
        before = torch.cat([start, target[:, :-1]], dim=1)
        mask = nn.Transformer.generate_square_subsequent_mask(
            target.shape[1], device=target.device, dtype=target.dtype
        )
        return self.transformer(source, before, tgt_mask=mask, tgt_is_causal=True)
        # END SOLUTION
