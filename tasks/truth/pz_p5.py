"""PZ-P5: 35 % MFU on 48 cards of 80 GB; on two nodes being right will do."""

from math import inf

from tasks.truth import _pz

ENOUGH = {(48, 60, 192): (50.2946, inf)}  # by ranks, layers and samples; the card limits the memory
name = _pz.name


def cases(seed):
    return [
        _pz.case(16, 6, 16, 1, profile="measured"),
        _pz.case(48, 60, 192, 1, profile="measured") | {"seconds": 60.0},
    ]


explain = _pz.judge(
    lambda *sizes: ENOUGH.get(sizes),
    slow="the MFU must be 35 % at least; look at the trace: what is not computing?",
    large="",
)
