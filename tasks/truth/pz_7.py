"""PZ-7: what is enough for GPipe."""

from tasks.truth import _pz

name = _pz.name
cases = _pz.cases((4, 8, 4), _pz.stages)


def enough(ranks, layers, samples):
    """The pipeline is full after ranks - 1 samples; all activations, and all gradients apart."""
    each = layers // ranks
    time = (ranks - 1 + samples) * (2 * each + 0.8) - 0.8 + 0.5 * each
    return time, _pz.ELEMENTS * (2 * each + (each + 1) * samples)


passed = _pz.star(enough)
explain = _pz.judge(
    enough,
    slow="a rank sends a sample on and takes the next one at once",
    large="delete the activations of a sample after its backward, and add up its gradients",
)
