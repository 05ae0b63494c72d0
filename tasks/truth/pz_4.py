"""PZ-4: what is enough for data parallel with sharded weights."""

from tasks.truth import _pz

name = _pz.name
cases = _pz.cases((4, 6, 4), _pz.one_sample_each)


def enough(ranks, layers, samples):
    """Two gathers for each layer more; a shard of weights and states, and whole gradients."""
    return 3.4 * layers, _pz.ELEMENTS * (2 * layers / ranks + layers + 1.5)


passed = _pz.star(enough)
explain = _pz.judge(
    enough,
    slow="a layer is gathered twice and reduced once",
    large="keep one whole weight at a time",
)
