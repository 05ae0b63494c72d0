"""What averaging weights less often costs: three replicas, three seeds, every method of lesson 04.

    python local_steps.py        two minutes; writes local_steps.json, which the lesson reads

Each run begins with a warm-up on one device. From this common start three replicas in this process
go on with Adam, each on stories of its own.
"""

import copy
import json
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import torch

from simplellm.dataloaders import TinyStories
from simplellm.losses import causalLLMLoss
from simplellm.options import TrainingFlags, make_optimizer, prepare, stories_of_ranks

TINY = "--layers 1 --dmodel 48 --seq-l 64".split()
RANKS, SEEDS, STEPS = 3, 3, 128
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


def torchs_nesterov(net, rate=0.7, momentum=0.6):
    """Return the outer step of DiLoCo, made of torch's own SGD."""
    start = [p.detach().clone().requires_grad_() for p in net.parameters()]
    outer = torch.optim.SGD(start, lr=rate, momentum=momentum, nesterov=True)

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
METHODS |= {f"weights, every {n} steps": (n, None) for n in (4, 16, 64)}
METHODS |= {f"DiLoCo, every {n} steps": (n, torchs_nesterov) for n in (16, 64)}


def warmed_up(seed, steps=96):
    """Return the model after a warm-up on one device, its tokenizer, and text for judging it."""
    flags = [*TINY, "--lr", "6e-3", "--seed", str(seed)]
    options = TrainingFlags("", batch_size=1).parse_args(flags)
    tokenizer, net = prepare(options, "cpu")
    optimizer, stories = make_optimizer(options, net), stories_of_ranks(options, tokenizer, 1)
    for _ in range(steps):
        backward(net, next(stories), tokenizer)
        optimizer.step()
    sizes = {"batch_size": 32, "seq_l": 64, "world": options.world}
    return net, tokenizer, next(iter(TinyStories(tokenizer, "validation", quiet=True, **sizes)))


def backward(net, ids, tokenizer):
    net.zero_grad()
    causalLLMLoss(net(ids), ids, tokenizer.vocab_size).backward()


def local_training(start, seed, every, outer=None, steps=STEPS):
    """Return the loss on new text after so many steps, averaging every so often."""
    net, tokenizer, held_out = start
    nets = [copy.deepcopy(net) for _ in range(RANKS)]
    flags = [*TINY, "--lr", "2e-3", "--seed", str(9 + seed)]
    options = TrainingFlags("", batch_size=RANKS).parse_args(flags)
    stories = stories_of_ranks(options, tokenizer, RANKS)
    optimizers = [make_optimizer(options, net) for net in nets]
    outer_steps = [outer(net) for net in nets] if outer else []
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
    with torch.no_grad():
        return causalLLMLoss(nets[0](held_out), held_out, tokenizer.vocab_size).item()


def all_methods(seed):
    torch.set_num_threads(1)
    start = warmed_up(seed)
    return {
        name: round(local_training(start, seed, *method), 4) for name, method in METHODS.items()
    }


def recorded():
    """Return what `main` measured: by method, the losses of the seeds."""
    return json.loads(RECORDED.read_text())


def main():
    with ProcessPoolExecutor(SEEDS) as workers:
        seeds = list(workers.map(all_methods, range(SEEDS)))
    losses = {name: [each[name] for each in seeds] for name in METHODS}
    RECORDED.write_text(json.dumps(losses, indent=2) + "\n")


if __name__ == "__main__":
    main()
