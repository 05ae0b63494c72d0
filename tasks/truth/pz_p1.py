"""PZ-P1: what is enough for ZeRO-3."""

from tasks.truth import _pz

name = _pz.name
cases, enough = _pz.listed(
    {  # ranks, layers, samples, micro-batch: time and memory
        (32, 64, 256, 8): (0.1845, 2.9e9),
        (4, 6, 32, 2): (0.0130, 2.0e8),
        (1, 2, 4, 2): (0.00236, 1.9e8),
    }
)

explain = _pz.judge(
    enough,
    slow="gather twice and reduce once for each layer and micro-batch",
    large="keep one whole weight and one whole gradient at a time",
)
