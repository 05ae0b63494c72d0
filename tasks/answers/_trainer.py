"""The same training on four ranks.

Two replicas read different stories. In each, two ranks share every story, one its first half and
the other its second half, and each of them has one of the two experts.
"""

import one_device as alone
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

from helpers.parallel.operators import all_gather, reduce_scatter
from helpers.trace import Recorder


def together(tensors, collective):
    """Do one collective with all of these tensors, in place."""
    flat = torch.cat([tensor.flatten() for tensor in tensors])
    collective(flat)
    parts = flat.split([tensor.numel() for tensor in tensors])
    for tensor, part in zip(tensors, parts, strict=True):
        tensor.copy_(part.view_as(tensor))


class Attention(nn.Module):
    """Queries of this half, keys and values of the whole story."""

    def __init__(self, whole, row, half):
        super().__init__()
        self.q, self.k, self.v, self.o = whole.q, whole.k, whole.v, whole.o
        self.row, self.half = row, half

    def forward(self, x):
        length = x.shape[1]
        positions = torch.arange(length) + self.half * length
        q = alone.rotate(alone.split_heads(self.q(x)), positions)
        k = alone.rotate(alone.split_heads(self.k(x)), positions)
        both = torch.stack((k, alone.split_heads(self.v(x))))
        k, v = all_gather(both, self.row, dim=3)
        seen = torch.arange(alone.LENGTH) <= positions[:, None]
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=seen)
        return self.o(y.transpose(1, 2).flatten(2))


class Experts(nn.Module):
    """One of the two experts, for the tokens of both halves."""

    def __init__(self, whole, row, half):
        super().__init__()
        self.router, self.row, self.half = whole.router, row, half
        self.experts = nn.ModuleDict({str(half): whole.experts[half]})

    def forward(self, x):
        x = all_gather(x, self.row, dim=1)
        gate = self.router(x).softmax(-1)[..., self.half, None]
        mine = gate * self.experts[str(self.half)](x)
        return reduce_scatter(mine, self.row, dim=1)


class Shared:
    """What a rank knows: its place, its groups, its part of the model, its part of the work."""

    def __init__(self, model, row, column, replica, half):
        self.model, self.row, self.column = model, row, column
        self.replica, self.half = replica, half
        for block in model.layers:
            block.attention = Attention(block.attention, row, half)
            block.mlp = Experts(block.mlp, row, half)
        self.parameters = dict(model.named_parameters())
        self.owner = {name: n % 2 for n, name in enumerate(self.parameters)}
        self.mine = [p for name, p in self.parameters.items() if self.owner[name] == replica]

    def stories(self, step):
        """The micro-batches of this replica: half of those of the step."""
        parts = alone.micro_batches(step)
        each = len(parts) // 2
        return parts[self.replica * each : (self.replica + 1) * each]

    def cut(self, x):
        """This rank's half of the tokens."""
        return x.chunk(2, dim=1)[self.half].contiguous()

    def masks(self, seed, numbers):
        """The dropout of each layer, for this rank's half."""
        keeps = [alone.mask_of(seed, numbers, layer) for layer in range(alone.LAYERS)]
        return [self.cut(keep) for keep in keeps]

    def targets(self, seed, numbers):
        return self.cut(alone.batch_of(seed, numbers)[1])

    def losses(self, seed, numbers):
        """The loss at each token of this half."""
        inputs, masks = self.cut(alone.batch_of(seed, numbers)[0]), self.masks(seed, numbers)
        logits = self.model(inputs, masks)
        targets = self.targets(seed, numbers)
        return F.cross_entropy(
            logits.transpose(1, 2), targets, ignore_index=alone.PAD, reduction="none"
        )

    def tokens(self, seed, parts):
        """How many tokens the whole step has, on all ranks."""
        count = sum((self.targets(seed, part) != alone.PAD).sum() for part in parts)
        dist.all_reduce(count)
        return count

    def add_up(self):
        """Add up the gradients: over the halves what both hold, then over the replicas."""
        on_both = [p.grad for name, p in self.parameters.items() if "experts" not in name]
        together(on_both, lambda flat: dist.all_reduce(flat, group=self.row))
        every = [p.grad for p in self.parameters.values()]
        together(every, lambda flat: dist.all_reduce(flat, group=self.column))

    def clip(self):
        """Scale the gradients so that the norm of all of them is at most CLIP."""
        square = {True: torch.zeros(()), False: torch.zeros(())}
        for name, p in self.parameters.items():
            square["experts" in name] += p.grad.float().square().sum()
        dist.all_reduce(square[True], group=self.row)
        norm = (square[True] + square[False]).sqrt()
        for p in self.parameters.values():
            p.grad *= min(1.0, alone.CLIP / (norm.item() + 1e-6))
        return norm.item()

    def spread(self):
        """Send each weight from the replica that has updated it to the other one."""
        for owner in range(2):
            theirs = [p.data for name, p in self.parameters.items() if self.owner[name] == owner]
            source = 2 * owner + self.half
            together(theirs, lambda flat: dist.broadcast(flat, source, group=self.column))  # noqa: B023


def grid():
    """This rank's replica and half, and the groups along them: ranks 0 1 and 2 3, 0 2 and 1 3."""
    replica, half = divmod(dist.get_rank(), 2)
    rows = [dist.new_group([2 * r, 2 * r + 1]) for r in range(2)]
    columns = [dist.new_group([h, h + 2]) for h in range(2)]
    return rows[replica], columns[half], replica, half


def train(seed=0, steps=alone.STEPS):
    """Return the log, one dict a step, and this rank's trace."""
    rank = Shared(alone.Model(seed), *grid())
    optimizer = torch.optim.AdamW(rank.mine, lr=alone.RATE)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, alone.rate_at)
    recorder, log = Recorder(dist.get_rank()), []
    for step in range(steps):
        rank.model.zero_grad()
        parts = rank.stories(step)
        tokens = rank.tokens(seed, parts)
        total = torch.zeros(2)  # losses and tokens, for the log
        for part in parts:
            with recorder.span("F"):
                losses = rank.losses(seed, part)
            with recorder.span("B"):
                (losses.sum() / tokens).backward()
            total += torch.stack((losses.detach().sum(), (losses > 0).sum()))
        with recorder.span("all-reduce"):
            rank.add_up()
        norm, rate = rank.clip(), optimizer.param_groups[0]["lr"]
        with recorder.span("update"):
            optimizer.step()
        schedule.step()
        with recorder.span("broadcast"):
            rank.spread()
        dist.all_reduce(total)
        log.append({"loss": (total[0] / total[1]).item(), "norm": norm, "rate": rate})
    return log, recorder.trace()
