"""PZ-2: what is enough for gradient accumulation."""

import random

from tasks.truth import _pz

name = _pz.name


def cases(seed):
    draw = random.Random(seed)
    return [_pz.case(1, 2, 4), _pz.case(1, draw.randint(3, 6), draw.randint(2, 7))]


def enough(ranks, layers, samples):
    """As for PZ-1; weights, states and gradients, and the activations of one sample."""
    time = layers * (2 * samples + 0.5)
    return time, _pz.ELEMENTS * (3.5 * layers + 0.5)


agrees, explain = _pz.judge(
    enough,
    slow="a sample needs one forward and one backward a layer, and there is one update",
    large="take one sample at a time, and keep the sum of the gradients alone; "
    "grad_activations[-1], which backward of layer 0 returns, is needed by nobody",
)
