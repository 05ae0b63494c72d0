"""PZ-5: what is enough for fully sharded data parallel."""

from tasks.truth import _pz

name = _pz.name
cases = _pz.cases((4, 6, 4), _pz.one_sample_each)


def enough(ranks, layers, samples):
    """As for PZ-4; one whole weight and one whole gradient."""
    return 3.4 * layers, _pz.ELEMENTS * (2 * layers / ranks + layers / 2 + 3)


passed = _pz.star(enough)
explain = _pz.judge(
    enough,
    slow="a layer is gathered twice and reduced once",
    large="cut the gradient of a layer into shards right after its backward",
)
