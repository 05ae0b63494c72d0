"""PZ-4: what is enough for data parallel with sharded weights."""

import random

from tasks.truth import _pz

name = _pz.name


def cases(seed):
    draw = random.Random(seed)
    ranks = draw.randint(3, 7)
    return [_pz.case(4, 6, 4), _pz.case(ranks, draw.randint(3, 6), ranks)]


def enough(ranks, layers, samples):
    """Two gathers for each layer more; a shard of weights and states, and whole gradients."""
    return 3.4 * layers, _pz.ELEMENTS * (2 * layers / ranks + layers + 1.5)


passed = _pz.star(enough)
agrees, explain = _pz.judge(
    enough,
    slow="a layer is gathered twice and reduced once",
    large="keep one whole weight at a time",
)
