"""PZ-5: what is enough for fully sharded data parallel."""

import random

from tasks.truth import _pz

name = _pz.name


def cases(seed):
    draw = random.Random(seed)
    ranks = draw.randint(3, 7)
    return [_pz.case(4, 6, 4), _pz.case(ranks, draw.randint(3, 6), ranks)]


def enough(ranks, layers, samples):
    """As for PZ-4; one whole weight and one whole gradient."""
    return 3.4 * layers, _pz.ELEMENTS * (2 * layers / ranks + layers / 2 + 3)


passed = _pz.star(enough)
agrees, explain = _pz.judge(
    enough,
    slow="a layer is gathered twice and reduced once",
    large="cut the gradient of a layer into shards right after its backward",
)
