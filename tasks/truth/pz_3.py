"""PZ-3: what is enough for data parallel."""

from tasks.truth import _pz

name = _pz.name
cases = _pz.cases((4, 2, 4), _pz.one_sample_each)


def enough(ranks, layers, samples):
    """Two passes, a reduce and an update for each layer, whatever the ranks."""
    return 2.8 * layers, _pz.ELEMENTS * (3 * layers + 1)


passed = _pz.star(enough)
explain = _pz.judge(
    enough,
    slow="each rank takes its own sample alone, and each layer is reduced once",
    large="delete each activation and gradient after the backward that needs it last",
)
