"""One training on any layout: the same whole model, the same global batch, the same losses."""

import torch
import torch.distributed as dist

from helpers.checkpoint import Training
from helpers.grid import Grid, make_groups
from helpers.parallel import LLAMA, cut, parallel_cross_entropy
from helpers.pipeline import Pipeline, add_tied, count_targets
from helpers.schedules import one_f_one_b
from simplellm.llama import CausalLLama, LLama
from simplellm.losses import causalLLMLoss
from simplellm.slicing import slice_stage, whole_name

VOCAB, ROWS, LENGTH, MICRO_BATCHES = 24, 8, 8, 2


def optimizer_for(name, model):
    if name == "sgd":
        return torch.optim.SGD(model.parameters(), lr=0.3, momentum=0.9)
    return torch.optim.AdamW(model.parameters(), lr=1e-2, betas=(0.8, 0.99))


def causal_loss(model, ids):
    return causalLLMLoss(model(ids), ids, VOCAB)


def make_whole(layers=6, width=8, tied=False):
    """The whole model, always the same; float64, so that only real differences show."""
    torch.manual_seed(0)
    sizes = {"dmodel": width, "num_heads": 2, "n_layers": layers, "ctx_size": LENGTH}
    return LLama(CausalLLama, VOCAB, **sizes, device="cpu", shared=tied).double()


def batch_of(step):
    """The global batch of a step, (8, 8): whatever the layout, all of it is learnt from."""
    draw = torch.Generator().manual_seed(100 + step)
    return torch.randint(0, VOCAB, (ROWS, LENGTH), generator=draw)


class Trainer:
    """This rank's part of a training on a grid; of one device where the grid has one rank."""

    def __init__(self, grid, optimizer="sgd", tied=False):
        self.grid, self.here = grid, grid.coordinates(dist.get_rank() if grid.size > 1 else 0)
        self.stage = slice_stage(make_whole(tied=tied), self.here.pp, grid.pp)
        self.groups = make_groups(grid) if grid.size > 1 else None
        tp = self.groups.tp if grid.tp > 1 else None
        if grid.tp > 1:
            cut(self.stage, LLAMA, tp, heads=(2,))
        if grid.size > 1:
            schedule = one_f_one_b(grid.pp, min(MICRO_BATCHES, ROWS // grid.dp))
            self.pipeline = Pipeline(
                schedule, {self.here.pp: self.stage}, self.groups.pp, self.loss, self.tokens
            )
        self.tie = self.make_tie() if tied and grid.pp > 1 else None
        self.optimizer = optimizer_for(optimizer, self.stage)
        first = getattr(self.stage, "first_layer", 0)
        self.training = Training(
            self.stage,
            self.optimizer,
            lambda name: whole_name(name, first),
            LLAMA if grid.tp > 1 else None,
            tp,
        )

    def make_tie(self):
        """The group of the first and the last stage of this rank's pipeline; None in between."""
        mine = None
        for ranks in self.grid.groups("pp"):
            group = dist.new_group([ranks[0], ranks[-1]])
            if dist.get_rank() in (ranks[0], ranks[-1]):
                mine = group
        return mine

    def loss(self, logits, ids):
        if self.grid.tp == 1:
            return causalLLMLoss(logits, ids, VOCAB)
        following = torch.nn.functional.pad(ids, (0, 1), value=-100)[:, 1:]
        return parallel_cross_entropy(logits, following, self.groups.tp)

    def tokens(self, ids):
        return count_targets(ids[:, 1:])  # the first token of a sequence is nobody's target

    def step(self, number):
        """One step; the loss of the global batch where this rank has it, else None."""
        ids = batch_of(number)
        self.optimizer.zero_grad()
        if self.grid.size == 1:
            loss = causal_loss(self.stage, ids)
            loss.backward()
        else:
            mine = ids.chunk(self.grid.dp)[self.here.dp]
            loss = self.pipeline.step(mine, mine).loss
            if self.tie is not None:
                last = self.here.pp == self.grid.pp - 1
                end = self.stage.lm_head if last else self.stage._embedding
                add_tied([end.weight], self.tie)
            for p in self.stage.parameters():
                dist.all_reduce(p.grad, group=self.groups.dp)
                p.grad /= self.grid.dp
            if loss is not None:
                dist.all_reduce(loss, group=self.groups.dp)
                loss /= self.grid.dp
        self.optimizer.step()
        return None if loss is None else loss.item()

    def steps(self, start, end):
        """Their losses, where this rank has them."""
        return [loss for n in range(start, end) if (loss := self.step(n)) is not None]


ONE = Grid()
