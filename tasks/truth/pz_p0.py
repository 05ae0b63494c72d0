"""PZ-P0: what is enough for data parallel with accumulation."""

from tasks.truth import _pz

name = _pz.name
cases, enough = _pz.listed(
    {  # ranks, layers, samples, micro-batch: time and memory
        (8, 36, 32, 2): (0.0202, 2.7e9),
        (5, 4, 30, 4): (0.00277, 3.1e8),
        (1, 3, 6, 2): (0.00212, 2.4e8),
    }
)

explain = _pz.judge(
    enough,
    slow="reduce each layer once, after all micro-batches",
    large="keep the activations of one micro-batch at a time",
)
