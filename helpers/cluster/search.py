"""Every layout of a model on a number of devices: the fastest, and what less memory costs."""

from collections.abc import Iterable, Iterator
from itertools import product
from math import isqrt

from helpers.cluster.estimate import Estimate, estimate
from helpers.cluster.layout import Layout
from helpers.cluster.machine import Machine
from helpers.cost import ModelConfig

MICRO_BATCHES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
RECOMPUTE = ("none", "selective", "full")
CHUNKS = (1, 2, 3, 4, 6, 8)
ZERO = (0, 1)


def layouts(
    model: ModelConfig,
    machine: Machine,
    gpus: int,
    batch: int,
    sequence: int | None = None,
    **same,
) -> Iterator[Layout]:
    """All layouts that the model and the devices can be cut into.

    Tensor parallelism stays inside a node, and chunks come with a number of micro-batches that the
    stages divide, as Megatron-LM demands (`Layout` itself takes any number). same: fields that all
    of them have, as ``flash=True``; `recompute` and `zero` too.
    """
    hows = (same.pop("recompute"),) if "recompute" in same else RECOMPUTE
    zeros = (same.pop("zero"),) if "zero" in same else ZERO
    sequence = sequence or model.positions
    tps = [t for t in _divisors(gpus) if t <= machine.node and _cuts(model, t)]
    for tp, (micro, how, zero) in product(tps, product(MICRO_BATCHES, hows, zeros)):
        for pp in _divisors(gpus // tp):
            dp = gpus // (tp * pp)
            if model.layers % pp or batch % (dp * micro) or (zero and dp == 1):
                continue
            for chunks in CHUNKS:
                if chunks > 1 and (
                    pp == 1 or model.layers % (pp * chunks) or batch // (dp * micro) % pp
                ):
                    continue
                for shared in (False, True) if tp > 1 else (False,):
                    yield Layout(
                        batch,
                        sequence,
                        *(dp, pp, tp, chunks, micro, how),
                        **{"sequence_parallel": shared, "zero": zero} | same,
                    )


def search(
    model: ModelConfig,
    machine: Machine,
    gpus: int,
    batch: int,
    sequence: int | None = None,
    simulated: int = 0,
    **same,
) -> list[Estimate]:
    """All layouts that fit into memory, the fastest first.

    simulated: so many of the best are put on a clock, and ordered by what it says.
    Raises ValueError, one sentence, where there is no layout, or none fits.
    """
    if not isinstance(gpus, int) or gpus < 1:
        raise ValueError(f"search(gpus={gpus!r}): give a whole number, 1 or more")
    tried = [
        estimate(model, one, machine)
        for one in layouts(model, machine, gpus, batch, sequence, **same)
    ]
    if not tried:
        raise ValueError(
            f"a batch of {batch} on {gpus} devices: no layout cuts {model.layers} layers, "
            f"{model.heads} heads and the batch evenly; choose a batch or devices with more "
            "divisors"
        )
    found = sorted((e for e in tried if e.fits), key=lambda e: e.seconds)
    if not found:
        min(tried, key=lambda e: e.memory.total).require_room()
    best = sorted(found[:simulated], key=lambda e: e.simulated.step_time)
    return best + found[simulated:]


def frontier(estimates: Iterable[Estimate]) -> list[Estimate]:
    """Those that no other one beats in both time and memory; the fastest first."""
    best: list[Estimate] = []
    for one in sorted(estimates, key=lambda e: (e.seconds, e.memory.total)):
        if not best or one.memory.total < best[-1].memory.total:
            best.append(one)
    return best


def _divisors(number: int) -> list[int]:
    small = [d for d in range(1, isqrt(number) + 1) if number % d == 0]
    return sorted({*small, *(number // d for d in small)})


def _cuts(model: ModelConfig, tp: int) -> bool:
    return model.heads % tp == 0 and model.kv_heads % tp == 0
