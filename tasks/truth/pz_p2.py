"""PZ-P2: what is enough for the pipeline."""

from tasks.truth import _pz

name = _pz.name
cases, enough = _pz.listed(
    {  # ranks, layers, samples: time and memory
        (4, 16, 2048): (2.74, 6.6e10),
        (3, 7, 64): (0.0403, 1.5e9),
        (4, 2, 8): (0.00174, 1.4e8),
        (1, 3, 8): (0.00208, 3.0e8),
    }
)

explain = _pz.judge(
    enough,
    slow="nothing is sent twice, and each rank works only on its own layers",
    large="load only the layers of this rank, and delete what has been used",
)
