"""What averaging less often costs: every method of lesson 04 at six learning rates, three seeds.

    python local_steps.py        five minutes; writes local_steps.json, which the lesson reads

Each run begins with a warm-up on one device. From this common start three replicas in this process
go on with Adam, each on stories of its own.
"""

import copy
import json
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from itertools import product
from pathlib import Path

import torch

from simplellm.dataloaders import TinyStories
from simplellm.losses import causalLLMLoss
from simplellm.options import TrainingFlags, make_optimizer, prepare, stories_of_ranks

TINY = "--layers 1 --dmodel 48 --seq-l 64".split()
RANKS, SEEDS, STEPS = 3, 3, 256
RATES = (2e-3, 3e-3, 4e-3, 6e-3, 8e-3, 1.2e-2)
RECORDED = Path(__file__).with_name("local_steps.json")


@torch.no_grad()
def average(ranks):
    """Give each tensor the mean of those in its place. ranks: for each replica its tensors."""
    for same in zip(*ranks, strict=True):
        middle = sum(same) / len(same)
        for tensor in same:
            tensor.copy_(middle)


def weights(nets):
    return [list(net.parameters()) for net in nets]


def torchs_nesterov(net):
    """Return the outer step of DiLoCo, made of torch's own SGD."""
    start = [p.detach().clone().requires_grad_() for p in net.parameters()]
    outer = torch.optim.SGD(start, lr=0.7, momentum=0.6, nesterov=True)

    @torch.no_grad()
    def step():
        for old, new in zip(start, net.parameters(), strict=True):
            old.grad = old - new
        outer.step()
        for old, new in zip(start, net.parameters(), strict=True):
            new.copy_(old)

    return step


# every: None averages gradients. outer(net): what DiLoCo does after each average; None: nothing.
METHODS = {"gradients, every step": (None, None), "weights, every step": (1, None)}
METHODS |= {f"weights, every {n} steps": (n, None) for n in (16, 64)}
METHODS |= {f"DiLoCo, every {n} steps": (n, torchs_nesterov) for n in (16, 64)}


@cache
def warmed_up(seed, steps=96):
    """Return the model after a warm-up on one device, its tokenizer, and text for judging it."""
    flags = [*TINY, "--lr", "6e-3", "--seed", str(seed)]
    options = TrainingFlags("", batch_size=1).parse_args(flags)
    tokenizer, net = prepare(options, "cpu")
    optimizer, stories = make_optimizer(options, net), stories_of_ranks(options, tokenizer, 1)
    for _ in range(steps):
        backward(net, next(stories), tokenizer)
        optimizer.step()
    return net, tokenizer, stories_to_judge(options, tokenizer)


def stories_to_judge(options, tokenizer):
    """Return sequences that no training reads."""
    sizes = {"batch_size": 32, "seq_l": options.seq_l, "world": options.world}
    return next(iter(TinyStories(tokenizer, "validation", quiet=True, **sizes)))


def loss_of(net, ids, tokenizer):
    return causalLLMLoss(net(ids), ids, tokenizer.vocab_size)


def backward(net, ids, tokenizer):
    net.zero_grad()
    loss_of(net, ids, tokenizer).backward()


def three_replicas(start, seed, rate=6e-3):
    """Return three copies of the model, their optimizers, and what they read."""
    net, tokenizer, _ = start
    nets = [copy.deepcopy(net) for _ in range(RANKS)]
    flags = [*TINY, "--lr", str(rate), "--seed", str(9 + seed)]
    options = TrainingFlags("", batch_size=RANKS).parse_args(flags)
    stories = stories_of_ranks(options, tokenizer, RANKS)
    return nets, [make_optimizer(options, net) for net in nets], stories


def local_training(start, seed, every, outer=None, steps=STEPS, rate=6e-3, judged=STEPS):
    """Return the loss on new text after so many steps, averaging every so often.

    judged: after how many steps each; the result is {step: loss}, the last one included.
    """
    _, tokenizer, held_out = start
    nets, optimizers, stories = three_replicas(start, seed, rate)
    outer_steps, losses = [outer(net) for net in nets] if outer else [], {}
    for step in range(1, steps + 1):
        for net, ids in zip(nets, next(stories).split(1), strict=True):
            backward(net, ids, tokenizer)
        if every is None:
            average([[p.grad for p in net.parameters()] for net in nets])
        for optimizer in optimizers:
            optimizer.step()
        if every and step % every == 0:
            average(weights(nets))
            for outer_step in outer_steps:  # the same on every replica
                outer_step()
        if step % judged == 0 or step == steps:
            with torch.no_grad():
                losses[step] = loss_of(nets[0], held_out, tokenizer).item()
    return losses


def step_lengths(start, seed, steps):
    """Return for each tensor how far each step moved it: averaged weights, averaged gradients.

    The replicas go the way of averaged weights. From each place on it, a model with an Adam of its
    own takes the step that the mean of their gradients would take there.
    """
    nets, optimizers, stories = three_replicas(start, seed)
    (other, *_), (adam, *_), _ = three_replicas(start, seed)
    lengths = {name: ([], []) for name, _ in other.named_parameters()}
    for _ in range(steps):
        for net, ids in zip(nets, next(stories).split(1), strict=True):
            backward(net, ids, start[1])
        before = [p.detach().clone() for p in nets[0].parameters()]
        for p, old, *same in zip(other.parameters(), before, *weights(nets), strict=True):
            p.data.copy_(old)
            p.grad = sum(q.grad for q in same) / RANKS
        for optimizer in (adam, *optimizers):
            optimizer.step()
        average(weights(nets))
        moved = zip(before, *weights([nets[0], other]), lengths.values(), strict=True)
        for old, *two, found in moved:
            for new, row in zip(two, found, strict=True):
                row.append((new.detach() - old).norm().item())
    return lengths


def one_run(name, rate, seed):
    torch.set_num_threads(1)
    return round(local_training(warmed_up(seed), seed, *METHODS[name], rate=rate)[STEPS], 4)


def recorded():
    """Return what was measured: by method and learning rate, the losses of the seeds."""
    rows = json.loads(RECORDED.read_text()).items()
    return {name: {float(rate): losses for rate, losses in row.items()} for name, row in rows}


def best(row):
    """Return the learning rate whose mean loss is the lowest."""
    return min(row, key=lambda rate: sum(row[rate]))


if __name__ == "__main__":
    runs = list(product(METHODS, RATES, range(SEEDS)))
    with ProcessPoolExecutor(2) as workers:
        ends = iter(list(workers.map(one_run, *zip(*runs, strict=True))))
    found = {name: {rate: [next(ends) for _ in range(SEEDS)] for rate in RATES} for name in METHODS}
    RECORDED.write_text(json.dumps(found).replace("}, ", "},\n  ") + "\n")
