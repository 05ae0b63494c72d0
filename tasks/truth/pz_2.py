"""PZ-2: what is enough for gradient accumulation."""

from tasks.truth import _pz

name = _pz.name
cases = _pz.cases((1, 2, 4), _pz.alone)


def enough(ranks, layers, samples):
    """As for PZ-1; weights, states and gradients, and the activations of one sample."""
    time = layers * (2 * samples + 0.5)
    return time, _pz.ELEMENTS * (3.5 * layers + 0.5)


explain = _pz.judge(
    enough,
    slow="a sample needs one forward and one backward a layer, and there is one update",
    large="take one sample at a time, and keep the sum of the gradients alone; "
    "grad_activations[-1], which backward of layer 0 returns, is needed by nobody",
)
