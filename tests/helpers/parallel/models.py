"""A small LLaMA, its loss on one device and on parts, and one step of SGD."""

import torch
import torch.nn.functional as F

from helpers.oracle import between, one_step, snapshot
from helpers.parallel import parallel_cross_entropy
from simplellm.llama import CausalLLama, LLama

VOCABULARY, LENGTH, RATE = 32, 8, 0.5
SIZES = {"dmodel": 16, "num_heads": 4, "n_layers": 2, "ctx_size": LENGTH, "padding_idx": 0}


def make_model(dtype=torch.float64, **sizes):
    torch.manual_seed(1)
    model = LLama(CausalLLama, VOCABULARY, device="cpu", **SIZES | sizes).to(dtype)
    for p in model.parameters():  # start far from where all gradients are small
        p.data.mul_(5 if p.dim() > 1 else 1)
    return model


def make_batch(rows=4):
    draw = torch.Generator().manual_seed(2)
    ids = torch.randint(1, VOCABULARY, (rows, LENGTH), generator=draw)
    ids[0, [2, -1]] = 0  # padding
    return ids


def following(ids):
    """The next token of each position; -100 where there is none, and where it is padding."""
    shifted = F.pad(ids[:, 1:], (0, 1), value=-100)
    return shifted.where(shifted != 0, -100)


def tokens(ids):
    return int((following(ids) != -100).sum())


def part_loss(logits, ids, group=None):
    return parallel_cross_entropy(logits, following(ids), group)


def whole_loss(model, ids):
    logits = model(ids).flatten(0, 1)
    return F.cross_entropy(logits, following(ids).flatten(), ignore_index=-100), tokens(ids)


def one_device(model, micro_batches):
    return one_step(model, whole_loss, micro_batches, lambda ps: torch.optim.SGD(ps, lr=RATE))


def sgd_step(model, train):
    """The Step of this rank: train() leaves the gradients; then SGD by hand."""
    before = snapshot(model)
    train()
    for p in model.parameters():
        if p.grad is not None:
            p.data -= RATE * p.grad
    return between(before, snapshot(model))
