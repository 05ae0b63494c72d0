"""What sending one gradient in a hundred costs: two replicas, two optimizers, three seeds.

    python sending_less.py       minutes; writes sending_less.json, which lesson 10 reads

Every cell of the table has a learning rate of its own, the best of three or four with seed 0.
"""

import json
import math
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import torch
from compress import keep_largest

from simplellm.dataloaders import TinyStories
from simplellm.losses import causalLLMLoss
from simplellm.options import TrainingFlags, make_stories, prepare

TINY = "--layers 1 --dmodel 48 --seq-l 64".split()
RANKS, SEEDS, STEPS, SHARE = 2, 3, 320, 0.01
RATES = {"SGD": (0.1, 0.3, 1.0), "Adam": (1e-3, 3e-3, 1e-2, 3e-2)}
WAYS = ALL, DROPPED, KEPT = "all", "1 %, the rest dropped", "1 %, the rest kept"
RECORDED = Path(__file__).with_name("sending_less.json")


class Adam:
    """Adam on one flat tensor."""

    def __init__(self, rate):
        self.rate, self.steps, self.mean, self.square = rate, 0, 0.0, 0.0

    def __call__(self, gradient):
        """Return what is subtracted from the weights."""
        self.steps += 1
        self.mean = 0.9 * self.mean + 0.1 * gradient
        self.square = 0.999 * self.square + 0.001 * gradient**2
        usual = (self.square / (1 - 0.999**self.steps)).sqrt() + 1e-8
        return self.rate * self.mean / (1 - 0.9**self.steps) / usual


STEPPERS = {"SGD": lambda rate: lambda gradient: rate * gradient, "Adam": Adam}


def trained(name, way, rate, seed, steps=STEPS):
    """Return the loss on new text after so many steps."""
    flags = [*TINY, "--seed", str(seed)]
    options = TrainingFlags("", batch_size=1).parse_args(flags)
    tokenizer, net = prepare(options, "cpu")
    stories = [iter(make_stories(options, tokenizer, r, RANKS, quiet=True)) for r in range(RANKS)]
    step = STEPPERS[name](rate)
    weights = torch.nn.utils.parameters_to_vector(net.parameters()).detach()
    left = [torch.zeros_like(weights) for _ in range(RANKS)]
    for _ in range(steps):
        sent = []
        for rank in range(RANKS):
            gradient = gradient_of(net, next(stories[rank]), tokenizer) + left[rank]
            if way != ALL:
                gradient, rest = keep_largest(gradient, SHARE)
            if way == KEPT:
                left[rank] = rest
            sent.append(gradient)
        weights -= step(sum(sent) / RANKS)
        torch.nn.utils.vector_to_parameters(weights, net.parameters())
    sizes = {"batch_size": 64, "seq_l": 64, "world": options.world}
    held_out = next(iter(TinyStories(tokenizer, "validation", quiet=True, **sizes)))
    with torch.no_grad():
        return causalLLMLoss(net(held_out), held_out, tokenizer.vocab_size).item()


def gradient_of(net, ids, tokenizer):
    net.zero_grad()
    causalLLMLoss(net(ids), ids, tokenizer.vocab_size).backward()
    return torch.cat([p.grad.flatten() for p in net.parameters()])


def cell(name_and_way):
    """Return the best rate of a cell, and the losses of all seeds with it."""
    torch.set_num_threads(1)
    first = {rate: trained(*name_and_way, rate, seed=0) for rate in RATES[name_and_way[0]]}
    best = min(first, key=lambda rate: (math.isnan(first[rate]), first[rate]))
    others = [trained(*name_and_way, best, seed) for seed in range(1, SEEDS)]
    return {"rate": best, "losses": [round(loss, 4) for loss in (first[best], *others)]}


def recorded():
    """Return what `main` measured: by optimizer and way, the rate and the losses of the seeds."""
    return json.loads(RECORDED.read_text())


def main():
    cells = [(name, way) for name in RATES for way in WAYS]
    with ProcessPoolExecutor(2) as workers:
        found = list(workers.map(cell, cells))
    table = {name: {} for name in RATES}
    for (name, way), each in zip(cells, found, strict=True):
        table[name][way] = each
    RECORDED.write_text(json.dumps(table, indent=2) + "\n")


if __name__ == "__main__":
    main()
