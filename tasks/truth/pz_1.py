"""PZ-1: what is enough for one rank, the whole batch at once."""

from tasks.truth import _pz

name = _pz.name
cases = _pz.cases((1, 2, 4), _pz.alone)


def enough(ranks, layers, samples):
    """All forwards and backwards, and an update for each layer; activations at their most."""
    time = layers * (2 * samples + 0.5)
    return time, _pz.ELEMENTS * (2 * layers + (layers + 1) * samples / 2)


explain = _pz.judge(
    enough,
    slow="every layer goes forward once and backward once, and is updated once",
    large="delete each activation and gradient after the backward that needs it last, and "
    "grad_activations[-1], which nobody needs",
)
