"""DP-8: the loss of the weights that came back, judged here, within what the link allows.

What a method computes between two calls isn't seen: its author answers for that.
"""

import random

import torch

from simplellm.dataloaders import TinyStories
from simplellm.losses import causalLLMLoss
from simplellm.options import TrainingFlags, prepare

ENOUGH = 3.0  # nats a token
FLAGS = "--layers 1 --dmodel 48 --seq-l 64".split()


def cases(seed):
    return [{"seed": random.Random(seed).randrange(10**6), "budget": 300.0}]


def agrees(case, seen):
    return explain(case, seen) is None


def explain(case, seen):
    """Say why the run doesn't count, or that its loss is too high; None if it's low enough."""
    used = sum(0.4 + 4 / 3 * size / 125e3 if size else 1.0 for size in seen["log"])
    if used > case["budget"] + 1e-6:
        return f"it took {used:.0f} s of the clock, and there are {case['budget']:.0f}"
    reached = _loss(case, seen)
    if not reached <= ENOUGH:
        return f"it runs, but {_words(reached, seen)}; {ENOUGH:.2f} passes"
    return None


def passed(cases, seen):
    return f"score: {_words(_loss(cases[0], seen[0]), seen[0])}"


def _words(loss, seen):
    steps, sent = seen["log"].count(0), 4 / 3 * sum(seen["log"]) / 1e6
    return f"loss {loss:.3f} after {steps} steps and {sent:.1f} MB (the lowest wins)"


@torch.no_grad()
def _loss(case, seen):
    """Return the mean of the replicas' losses on stories that nobody has read."""
    options = TrainingFlags("").parse_args([*FLAGS, "--seed", str(case["seed"])])
    tokenizer, net = prepare(options, "cpu")
    new = TinyStories(
        tokenizer, split="validation", quiet=True, batch_size=32, seq_l=64, world=options.world
    )
    ids, losses = next(iter(new)), []
    for weights in seen["weights"]:
        for own, given in zip(net.parameters(), weights, strict=True):
            own.copy_(given)
        losses.append(causalLLMLoss(net(ids), ids, tokenizer.vocab_size).item())
    return sum(losses) / len(losses)
