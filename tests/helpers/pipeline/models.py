"""A small language model in fourteen parts, any run of which is a stage; one batch for it."""

from collections import OrderedDict
from itertools import pairwise

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
        attend = functional.scaled_dot_product_attention
        x = x + attend(self.queries(normal), normal, normal, is_causal=True)
        return x + self.down(functional.silu(self.up(self.norm(x) * self.scale)))


def make_head():
    return nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCAB, bias=False))


def make_model(frozen=()):
    """The whole model, always the same: embedding, blocks, head; parts named "0" to "13"."""
    torch.manual_seed(0)
    blocks = [Block() for _ in range(BLOCKS)]
    model = nn.Sequential(nn.Embedding(VOCAB, WIDTH), *blocks, make_head()).double()
    for name, weight in model.named_parameters():
        weight.requires_grad_(name not in frozen)
    return model


def stages_of(schedule, rank, model):
    """The rank's stages, the first ones one block longer; names stay those of the whole model."""
    count, parts = schedule.stages, list(model.named_children())
    edges = [0, *(1 + BLOCKS - BLOCKS * (count - k) // count for k in range(1, count)), len(model)]
    cut = [nn.Sequential(OrderedDict(parts[a:b])) for a, b in pairwise(edges)]
    return {s: cut[s] for s in schedule.stages_of(rank)}


def make_batch(rows=ROWS):
    """Ids, and the next ids as targets; some rows end early, and the last one counts nowhere."""
    ids = torch.randint(0, VOCAB, (rows, LENGTH), generator=torch.Generator().manual_seed(1))
    targets = ids.roll(-1, dims=1)
    targets[:, -1] = -100
    targets[rows // 3, 3:] = targets[rows // 2, 2:] = targets[-1] = -100
    return ids, targets


def loss(logits, targets):
    return functional.cross_entropy(logits.flatten(0, 1), targets.flatten())


def gradients_of(model):
    return {name: p.grad for name, p in model.named_parameters() if p.grad is not None}


def assert_one_device(found, frozen=()):
    """Whether gradients are those of one device, with the whole batch at once."""
    model, (ids, targets) = make_model(frozen), make_batch()
    loss(model(ids), targets).backward()
    right = gradients_of(model)
    assert found.keys() == right.keys()
    for name, tensor in right.items():
        torch.testing.assert_close(found[name], tensor, rtol=1e-10, atol=1e-12, msg=name)
