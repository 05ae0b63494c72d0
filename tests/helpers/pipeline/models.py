"""A small language model in fourteen parts, any run of which is a stage; one batch for it."""

from collections import OrderedDict

import torch
from torch import nn
from torch.nn import functional

VOCAB, WIDTH, LENGTH, ROWS, BLOCKS = 20, 12, 6, 8, 12


class Block(nn.Module):
    """Mixes positions and features; its two halves share one norm and one scale."""

    def __init__(self):
        super().__init__()
        self.norm, self.scale = nn.LayerNorm(WIDTH), nn.Parameter(torch.randn(WIDTH) / 4 + 1)
        self.queries = nn.Linear(WIDTH, WIDTH, bias=False)
        self.up, self.down = nn.Linear(WIDTH, 16), nn.Linear(16, WIDTH)

    def forward(self, x):
        normal = self.norm(x) * self.scale
        x = x + functional.scaled_dot_product_attention(
            self.queries(normal), normal, normal, is_causal=True
        )
        return x + self.down(functional.silu(self.up(self.norm(x) * self.scale)))


class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.out = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCAB, bias=False)

    def forward(self, x):
        return self.out(self.norm(x))


def make_model(dtype=torch.float64):
    """The whole model, always the same: embedding, blocks, head; parts named "0" to "13"."""
    torch.manual_seed(0)
    blocks = [Block() for _ in range(BLOCKS)]
    return nn.Sequential(nn.Embedding(VOCAB, WIDTH), *blocks, Head()).to(dtype)


def cut_model(model, count):
    """`count` stages, the first ones one block longer; names stay those of the whole model."""
    edges = [0, *(1 + BLOCKS - BLOCKS * (count - k) // count for k in range(1, count)), len(model)]
    parts = list(model.named_children())
    return [nn.Sequential(OrderedDict(parts[a:b])) for a, b in zip(edges, edges[1:], strict=False)]


def make_batch(rows=ROWS, seed=1):
    """Ids, and the next ids as targets; some rows end early."""
    draw = torch.Generator().manual_seed(seed)
    ids = torch.randint(0, VOCAB, (rows, LENGTH), generator=draw)
    targets = ids.roll(-1, dims=1)
    targets[:, -1] = -100
    targets[rows // 3, 3:] = targets[rows // 2, 2:] = -100
    return ids, targets


def loss(logits, targets):
    """The mean over the targets that count."""
    return functional.cross_entropy(logits.flatten(0, 1), targets.flatten())


def gradients_of(model):
    return {name: p.grad.clone() for name, p in model.named_parameters()}


def right_gradients(dtype=torch.float64, batch=None):
    """One device, the whole batch at once."""
    model = make_model(dtype)
    ids, targets = batch or make_batch()
    loss(model(ids), targets).backward()
    return gradients_of(model)
