"""Two things that no stage can do alone: clip by the whole model's norm, and tie its two ends.

python clip_and_tie.py      six ranks; how far each way ends from one device, in float64
"""

import torch
import torch.distributed as dist

from helpers.grid import Grid, make_groups
from helpers.pipeline import Pipeline, add_tied, make_tie
from helpers.ranks import launch
from helpers.schedules import one_f_one_b
from simplellm.llama import CausalLLama, LLama
from simplellm.losses import causalLLMLoss
from simplellm.slicing import slice_stage, whole_weights

GRID, MICRO_BATCHES, STEPS, RATE, MOST = Grid(dp=2, pp=3), 3, 3, 0.5, 0.5
WORDS, LENGTH = 50, 16
WRONG = {
    "own": "each stage clips by its own norm",
    "all": "the norm is summed over all six ranks",
    "first": "clipped before the columns have averaged",
    "untied": "the two copies of the embedding aren't tied",
    "twice": "the tied embedding counts twice in the norm",
}


def clip(stage, most, row, skip=()):
    """Scale the gradients to a norm of at most `most`, over the whole model; return that norm.

    row: the ranks of this pipeline; None: this stage alone. skip: parameters that another stage
    counts. The columns must have averaged before: then all rows find the same norm.
    """
    square = sum(p.grad.square().sum() for p in stage.parameters() if all(p is not q for q in skip))
    if row is not None:
        dist.all_reduce(square, group=row)
    norm = square.sqrt()
    for p in stage.parameters():
        p.grad *= (most / (norm + 1e-6)).clamp(max=1)  # torch adds the same
    return norm


def whole_model():
    torch.manual_seed(0)
    sizes = {"dmodel": 12, "num_heads": 2, "n_layers": 3, "ctx_size": LENGTH, "device": "cpu"}
    net = LLama(CausalLLama, WORDS, shared=True, **sizes).double()
    return net, torch.randint(WORDS, (STEPS, GRID.dp, MICRO_BATCHES, LENGTH))


def loss_of(logits, ids):
    return causalLLMLoss(logits, ids, WORDS)


def one_device():
    """Return the weights after a few steps with a tied embedding, clipped by the global norm."""
    net, batches = whole_model()
    optimizer = torch.optim.SGD(net.parameters(), lr=RATE)
    for batch in batches:
        optimizer.zero_grad()
        ids = batch.flatten(0, 1)
        loss_of(net(ids), ids).backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), MOST)
        optimizer.step()
    return net.state_dict()


def on_a_rank(way="right"):
    """Return the weights of this rank's stage after the same steps, done right or one way wrong."""
    torch.set_num_threads(1)
    net, batches = whole_model()
    here, groups = GRID.coordinates(dist.get_rank()), make_groups(GRID)
    stage = slice_stage(net, here.pp, GRID.pp)
    schedule = one_f_one_b(GRID.pp, MICRO_BATCHES)
    pipeline = Pipeline(schedule, {here.pp: stage}, groups.pp, loss=loss_of)
    ends = {0: "_embedding", GRID.pp - 1: "lm_head"}
    copies = [getattr(stage, ends[here.pp]).weight] if here.pp in ends else []
    tie, optimizer = make_tie(schedule, groups.pp), torch.optim.SGD(stage.parameters(), lr=RATE)
    row = {"own": None, "all": dist.group.WORLD}.get(way, groups.pp)
    once = here.pp == GRID.pp - 1 and way not in ("twice", "own", "untied")
    skip = copies if once else ()  # the other end counts it
    for batch in batches:
        optimizer.zero_grad()
        pipeline.step(batch[here.dp], batch[here.dp])
        if way != "untied":
            add_tied(copies, tie)
        if way == "first":
            clip(stage, MOST, row, skip)
        for p in stage.parameters():
            dist.all_reduce(p.grad, group=groups.dp)
            p.grad /= GRID.dp
        if way != "first":
            clip(stage, MOST, row, skip)
        optimizer.step()
    return whole_weights(stage)


def all_ways():
    return {way: on_a_rank(way) for way in ("right", *WRONG)}


def run():
    """Return for each way the largest difference of a weight from one device's."""
    ranks, alone = launch(all_ways, GRID.size, quiet=True, checked=False), one_device()
    return {
        way: max((w - alone[name]).abs().max().item() for r in ranks for name, w in r[way].items())
        for way in ("right", *WRONG)
    }


if __name__ == "__main__":
    for way, far in run().items():
        print(f"{far:.1e}  {WRONG.get(way, 'right')}")
