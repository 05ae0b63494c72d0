"""PZ-P1: what is enough for ZeRO-3."""

from tasks.truth import _pz

ENOUGH = {  # by ranks, layers and samples
    (32, 64, 256): (0.1845, 2.9e9),
    (4, 6, 32): (0.0130, 2.0e8),
    (1, 2, 4): (0.00236, 1.9e8),
}
name = _pz.name


def cases(seed):
    return [
        _pz.case(32, 64, 256, 8, profile="classic"),
        _pz.case(4, 6, 32, 2, profile="classic"),
        _pz.case(1, 2, 4, 2, profile="classic"),
    ]


agrees, explain = _pz.judge(
    lambda *sizes: ENOUGH.get(sizes),
    slow="gather twice and reduce once for each layer and micro-batch",
    large="keep one whole weight and one whole gradient at a time",
)
