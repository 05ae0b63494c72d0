"""DP-8: the loss of the weights that came back, judged here, within what the link allows.

What a method computes between two calls isn't seen: its author answers for that.
"""

import random

import torch

from simplellm.dataloaders import TinyStories
from simplellm.losses import causalLLMLoss
from simplellm.options import TrainingFlags, prepare

# What `local_sgd` of the lesson reaches, by seed: `score(local_sgd, seed)` of slow_link.py.
LOCAL_SGD = {0: 2.424, 1: 2.492, 2: 2.450}
BETTER = 0.04  # nats a token below it
FLAGS = "--layers 1 --dmodel 48 --seq-l 64".split()


def cases(seed):
    return [{"seed": random.Random(seed).choice(list(LOCAL_SGD)), "budget": 300.0}]


def explain(case, seen):
    """Say why the run doesn't count, or that its loss is too high; None if it's low enough."""
    used = sum(0.4 + 4 / 3 * size / 125e3 if size else 1.0 for size in seen["log"])
    if used > case["budget"] + 1e-6:
        return f"it took {used:.0f} s of the clock, and there are {case['budget']:.0f}"
    reached, enough = _loss(case, seen), LOCAL_SGD[case["seed"]] - BETTER
    if not reached <= enough:
        words = f"it runs, but its loss is {reached:.3f} after {_words(seen)}"
        return f"{words}, and local_sgd's is {LOCAL_SGD[case['seed']]:.3f}: {enough:.3f} passes"
    return None


def passed(cases, seen):
    below = LOCAL_SGD[cases[0]["seed"]] - _loss(cases[0], seen[0])
    return f"score: {below:.3f} nats below local_sgd, with {_words(seen[0])}"


def _words(seen):
    steps, sent = seen["log"].count(0), 4 / 3 * sum(seen["log"]) / 1e6
    return f"{steps} steps and {sent:.1f} MB"


@torch.no_grad()
def _loss(case, seen):
    """Return the mean of the replicas' losses on stories that nobody has read."""
    options = TrainingFlags("", batch_size=1).parse_args([*FLAGS, "--seed", str(case["seed"])])
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
