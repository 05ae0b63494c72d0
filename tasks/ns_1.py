"""NS-1: the mean over the replicas that are present."""

import random

import numpy as np

from helpers.grade import Task

TASK = Task(
    title="take the mean over those present",
    file="DP/never_stops/rules.py",
    function="mean_over_present",
    lesson="training_never_stops",
    minutes=10,
    hints=(
        "Three replicas, and one has gone: how many vectors are in `sent`, and by what did you "
        "want to divide?",
        "A gradient is a mean over its tokens. Times its tokens it is a sum, and sums can be "
        "added. Divide once, at the end, by the tokens of those present.",
        "tokens = the sum over sent.values() of one['tokens']; the answer is the sum of "
        "one['tokens'] / tokens * one['gradient'].",
    ),
)


def observe(module, case):
    """Return the mean, and whether the vectors were left as they were."""
    before = {replica: one["gradient"].copy() for replica, one in case.items()}
    mean = module.mean_over_present(case)
    same = all(np.array_equal(before[replica], one["gradient"]) for replica, one in case.items())
    return {"mean": mean, "the gradients are as they were": same}


def cases(seed):
    """Three of five replicas; one alone; all with the same tokens."""
    draw, found = random.Random(seed), []
    for replicas in (sorted(draw.sample(range(5), 3)), [draw.randrange(1, 5)], range(4)):
        tokens = 64 * draw.randint(2, 5)
        found.append({r: _sent(draw, tokens if len(replicas) == 4 else None) for r in replicas})
    return found


def _sent(draw, tokens=None):
    vector = np.random.default_rng(draw.randrange(10**6)).normal(size=6)
    return {"tokens": tokens or draw.randrange(31, 400), "gradient": vector}


MUTANTS = {
    ('one["tokens"] / tokens * one["gradient"]', 'one["gradient"] / len(sent)'): "every replica "
    "has the same weight: weight each gradient by its tokens",
    (" / tokens *", " *"): "it's the sum of tokens times gradient: divide by the tokens of all "
    "that are present",
    ('one["tokens"] / tokens * one["gradient"]', 'one["gradient"]'): "it's the sum of the "
    "gradients, without tokens and without a division",
    ('* one["gradient"]', '* one["gradient"] / len(sent)'): "it divides by the number of replicas "
    "as well: the tokens' shares already add up to one",
    """
tokens = sum(one["tokens"] for one in sent.values())
return sum(one["tokens"] / tokens * one["gradient"] for one in sent.values()) * len(sent) / (
    max(sent) + 1
)
""": "it divides by the largest number of a replica, and some of the replicas are gone",
    """
tokens = sum(one["tokens"] for one in sent.values())
first, *others = sent.values()
mean = first["gradient"]
mean *= first["tokens"] / tokens
for one in others:
    mean += one["tokens"] / tokens * one["gradient"]
return mean
""": "the mean is added up in the vector of the first replica: leave what was sent as it is",
}
