"""PZ-6: what is enough for the naive pipeline."""

from tasks.truth import _pz

name = _pz.name
cases = _pz.cases((4, 8, 4), _pz.stages)


def enough(ranks, layers, samples):
    """One rank works at a time, and a message between two costs 0.2 at each end."""
    each = layers // ranks
    time = 2 * layers * samples + 0.8 * (ranks - 1) + 0.5 * each
    return time, _pz.ELEMENTS * (2 * each + (each + 2) * samples / 2)


passed = _pz.star(enough)
explain = _pz.judge(
    enough,
    slow="nothing is sent twice, and each rank works only on its own layers",
    large="load only the layers of this rank, and delete what has been used",
)
