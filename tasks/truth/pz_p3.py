"""PZ-P3: what is enough for 1F1B."""

from tasks.truth import _pz

name = _pz.name
cases, enough = _pz.listed(
    {  # ranks, layers, samples, micro-batch: time and memory
        (16, 32, 2048, 128): (2.75, 2.4e10),
        (4, 8, 64, 4): (0.0194, 3.4e8),
        (3, 7, 40, 4): (0.0131, 3.0e8),
        (5, 3, 16, 2): (0.0037, 1.1e8),
        (1, 2, 8, 2): (0.00145, 1.7e8),
    }
)

explain = _pz.judge(
    enough,
    slow="send a micro-batch on, and take the next one before the first one comes back",
    large="after the warm-up each forward is followed by a backward, so rank r of p stages "
    "keeps at most p - r micro-batches",
)
