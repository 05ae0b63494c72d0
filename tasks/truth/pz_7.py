"""PZ-7: what is enough for GPipe."""

import random

from tasks.truth import _pz

name = _pz.name


def cases(seed):
    draw = random.Random(seed)
    ranks = draw.randint(3, 7)
    return [_pz.case(4, 8, 4), _pz.case(ranks, ranks * draw.randint(1, 3), draw.randint(4, 7))]


def enough(ranks, layers, samples):
    """The pipeline is full after ranks - 1 samples; all activations, and all gradients apart."""
    each = layers // ranks
    time = (ranks - 1 + samples) * (2 * each + 0.8) - 0.8 + 0.5 * each
    return time, _pz.ELEMENTS * (2 * each + (each + 1) * samples)


passed = _pz.star(enough)
agrees, explain = _pz.judge(
    enough,
    slow="a rank sends a sample on and takes the next one at once",
    large="delete the activations of a sample after its backward, and add up its gradients",
)
