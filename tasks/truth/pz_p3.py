"""PZ-P3: what is enough for 1F1B."""

from tasks.truth import _pz

ENOUGH = {  # by ranks, layers and samples
    (16, 32, 2048): (2.75, 2.4e10),
    (4, 8, 64): (0.0194, 3.4e8),
    (3, 7, 40): (0.0131, 3.0e8),
    (5, 3, 16): (0.0037, 1.1e8),
    (1, 2, 8): (0.00145, 1.7e8),
}
name = _pz.name


def cases(seed):
    return [
        _pz.case(16, 32, 2048, 128, profile="classic"),
        _pz.case(4, 8, 64, 4, profile="classic"),
        _pz.case(3, 7, 40, 4, profile="classic"),
        _pz.case(5, 3, 16, 2, profile="classic"),
        _pz.case(1, 2, 8, 2, profile="classic"),
    ]


agrees, explain = _pz.judge(
    lambda *sizes: ENOUGH.get(sizes),
    slow="send a micro-batch on, and take the next one before the first one comes back",
    large="after the warm-up each forward is followed by a backward, so rank r of p stages "
    "keeps at most p - r micro-batches",
)
