"""The closed form beside the simulation it stands for, and a search of ten thousand layouts."""

import itertools
from itertools import islice

from bench.race import Race, seconds_of
from helpers.cluster import Layout, estimate, layouts, preset
from helpers.cost import gpt

MODEL = gpt(12288, 96, 96)
DEEP = Layout(1536, dp=8, pp=16, tp=8, chunks=3, micro_batch=1)
SIZES = ((512, 512), (1024, 1536), (2048, 3072), (768, 1536))  # devices, batch
COUNT = 10_000


def races() -> list[Race]:
    """The same layout both ways; ten thousand layouts beside the ten seconds that they may take."""
    machine = preset("A100")
    every = list(islice(_layouts(machine), COUNT))
    assert len(every) == COUNT
    return [
        Race(
            f"{DEEP}, {DEEP.micro_batches} micro-batches",
            "closed form",
            "simulation",
            lambda: 1e3 * seconds_of(lambda: estimate(MODEL, DEEP, machine)),
            lambda: 1e3 * seconds_of(lambda: estimate(MODEL, DEEP, machine).simulated),
            unit="ms",
        ),
        Race(
            f"{COUNT:,} layouts of 175B by closed form",
            "all of them",
            "what they may take",
            lambda: seconds_of(lambda: [estimate(MODEL, one, machine) for one in every]),
            lambda: 10.0,
            runs=3,
        ),
    ]


def _layouts(machine):
    return itertools.chain.from_iterable(layouts(MODEL, machine, *sizes) for sizes in SIZES)
