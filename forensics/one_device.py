"""The training that all cases of lesson 23 mean to run, on one device: nothing is between ranks.

    python one_device.py            32 steps; prints what a training prints

A small language model: attention with rotary positions, dropout, and a mixture of two experts. A
step reads eight stories in four micro-batches, adds up their losses, divides by the number of
tokens in all of them, clips the gradients, and takes a step of AdamW whose learning rate warms up
and then falls.
"""

from functools import cache

import torch
import torch.nn.functional as F
from torch import nn

from simplellm.stories import story
from simplellm.tokenizers import SPTokenizer

VOCABULARY, WIDTH, HEADS, LAYERS, LENGTH = 1200, 32, 4, 2, 64
STORIES, MICRO_BATCH, STEPS = 8, 2, 32  # stories of a step and of a micro-batch
DROPOUT, CLIP, RATE, WARM_UP = 0.1, 0.6, 6e-3, 2
PAD = -100  # a target that doesn't count


@cache
def tokenizer():
    return SPTokenizer("stories-small")


@cache
def read(seed, number):
    """Return inputs and targets of one story, (LENGTH,) each: its first paragraphs, padded."""
    text = "\n".join(story(number, seed, world="small").split("\n")[: 1 + number % 3])
    ids = [*tokenizer().encode(text), tokenizer().eos_id][: LENGTH + 1]
    empty = LENGTH + 1 - len(ids)
    return torch.tensor(ids + [0] * empty)[:-1], torch.tensor(ids + [PAD] * empty)[1:]


def batch_of(seed, numbers):
    """Return inputs and targets (stories, LENGTH) of these stories."""
    inputs, targets = zip(*(read(seed, number) for number in numbers), strict=True)
    return torch.stack(inputs), torch.stack(targets)


def rate_at(step):
    """The learning rate, as a share of RATE: warm-up, then a slow fall."""
    return min((step + 1) / WARM_UP, 1.0) * (1 - 0.2 * step / STEPS)


def rotate(x, positions):
    """Turn queries or keys (stories, heads, tokens, features) by their positions (RoPE)."""
    pairs = x.shape[-1] // 2
    angles = positions[:, None] / 10000 ** (torch.arange(pairs) / pairs)
    first, second = x.chunk(2, dim=-1)
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    return torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)


def mask_of(seed, numbers, layer):
    """Return the dropout of a layer, (stories, LENGTH, WIDTH).

    Every story has its own, whichever rank it is on: so a run can be repeated on another layout.
    """
    masks = []
    for number in numbers:
        draw = torch.Generator().manual_seed((seed * 1_000_003 + number) * 100 + layer)
        masks.append((torch.rand(LENGTH, WIDTH, generator=draw) >= DROPOUT) / (1 - DROPOUT))
    return torch.stack(masks)


def split_heads(x):
    return x.unflatten(-1, (HEADS, -1)).transpose(1, 2)


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(4))

    def forward(self, x):
        positions = torch.arange(LENGTH)
        q, k, v = (split_heads(project(x)) for project in (self.q, self.k, self.v))
        q, k = rotate(q, positions), rotate(k, positions)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.o(y.transpose(1, 2).flatten(2))


def expert():
    return nn.Sequential(
        nn.Linear(WIDTH, 2 * WIDTH, bias=False), nn.GELU(), nn.Linear(2 * WIDTH, WIDTH, bias=False)
    )


class Experts(nn.Module):
    def __init__(self):
        super().__init__()
        self.router = nn.Linear(WIDTH, 2, bias=False)
        self.experts = nn.ModuleList([expert(), expert()])

    def forward(self, x):
        gates = self.router(x).softmax(-1)
        return sum(gates[..., e, None] * self.experts[e](x) for e in range(2))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.RMSNorm(WIDTH), nn.RMSNorm(WIDTH)
        self.attention, self.mlp = Attention(), Experts()

    def forward(self, x, keep):
        x = x + keep.to(x.dtype) * self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class Model(nn.Module):
    """ids (stories, LENGTH), with the masks of all layers -> logits."""

    def __init__(self, seed):
        super().__init__()
        torch.manual_seed(seed)
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        self.layers = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm = nn.RMSNorm(WIDTH)
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, ids, masks):
        x = self.embed(ids)
        for layer, keep in zip(self.layers, masks, strict=True):
            x = layer(x, keep)
        return self.head(self.norm(x))


def micro_batches(step):
    """Return the numbers of the stories of each micro-batch of a step."""
    first = step * STORIES
    return [range(n, n + MICRO_BATCH) for n in range(first, first + STORIES, MICRO_BATCH)]


def nll(model, seed, numbers):
    """Return the loss at each token of these stories, (stories, LENGTH), 0 where it is padding."""
    inputs, targets = batch_of(seed, numbers)
    logits = model(inputs, [mask_of(seed, numbers, layer) for layer in range(LAYERS)])
    return F.cross_entropy(logits.transpose(1, 2), targets, ignore_index=PAD, reduction="none")


def take_step(model, optimizer, seed, step):
    """Take one step; return its mean loss and the norm of its gradients before clipping."""
    optimizer.zero_grad()
    parts = micro_batches(step)
    tokens = sum((batch_of(seed, part)[1] != PAD).sum() for part in parts)
    total = 0.0
    for part in parts:
        losses = nll(model, seed, part)
        (losses.sum() / tokens).backward()
        total += losses.sum().item()
    norm = nn.utils.clip_grad_norm_(model.parameters(), CLIP)
    optimizer.step()
    return total / tokens.item(), norm.item()


def train(seed=0, steps=STEPS):
    """Return the log, one dict a step, and the model."""
    model = Model(seed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, rate_at)
    log = []
    for step in range(steps):
        rate = optimizer.param_groups[0]["lr"]
        loss, norm = take_step(model, optimizer, seed, step)
        schedule.step()
        log.append({"loss": loss, "norm": norm, "rate": rate})
    return log, model


if __name__ == "__main__":
    for step, line in enumerate(train()[0]):
        print(step, " ".join(f"{name} {value:.4f}" for name, value in line.items()))
