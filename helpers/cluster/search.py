"""Every layout of a model on a number of devices, the fastest first."""

import math
from collections.abc import Iterator
from itertools import product

from helpers.cluster.estimate import Estimate, estimate
from helpers.cluster.layout import Layout
from helpers.cluster.machine import Machine
from helpers.cluster.memory import memory
from helpers.cost import ModelConfig

MICRO_BATCHES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
CHUNKS = (1, 2, 3, 4, 6, 8)


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
    stages divide, as Megatron-LM demands (`Layout` itself takes any number). Of ZeRO: 0 and 1.
    same: fields that all of them have, as ``flash=True``, ``zero=3``, ``cp=2`` or ``ep=8``.
    """
    sequence = sequence or model.positions
    hows = [same.pop("recompute")] if "recompute" in same else ["none", "selective", "full"]
    zeros = [same.pop("zero")] if "zero" in same else [0, 1]
    shares = [same.pop("sequence_parallel")] if "sequence_parallel" in same else [False, True]
    cp = same.get("cp", 1)
    tps = [t for t in _divisors(gpus) if t <= machine.node and _cuts(model, t)]
    for tp, micro, how, zero in product(tps, MICRO_BATCHES, hows, zeros):
        for pp in _divisors(gpus // (tp * cp)):
            dp = gpus // (tp * pp * cp)
            if dp * tp * pp * cp != gpus or batch % (dp * micro) or (zero and dp * cp == 1):
                continue
            for chunks, shared in product(CHUNKS, shares):
                if chunks > 1 and (pp == 1 or batch // (dp * micro) % pp):
                    continue
                if shared and tp == 1 and len(shares) > 1:
                    continue
                sizes = batch, sequence, dp, pp, tp, chunks, micro, how, shared
                try:
                    yield Layout(*sizes, zero=zero, **same).for_model(model)
                except ValueError:
                    continue


def search(
    model: ModelConfig,
    machine: Machine,
    gpus: int,
    batch: int,
    sequence: int | None = None,
    simulated: int = 0,
    **same,
) -> list[Estimate]:
    """All layouts that fit into memory, the fastest first; same: see `layouts`.

    simulated: so many of the best are put on a clock, and ordered by what it says.
    Raises ValueError, one sentence, where there is no layout, or none fits.
    """
    if not isinstance(gpus, int) or gpus < 1:
        raise ValueError(f"search(gpus={gpus!r}): give a whole number, 1 or more")
    tried = list(layouts(model, machine, gpus, batch, sequence, **same))
    if not tried:
        raise ValueError(
            f"a batch of {batch} on {gpus} devices: no layout cuts {model.layers} layers, "
            f"{model.heads} heads and the batch evenly; choose a batch or devices with more "
            "divisors"
        )
    found, least = [], math.inf
    for layout in tried:
        held = memory(model, layout)
        if held.total <= machine.memory:
            found.append(estimate(model, layout, machine, held=held))
        elif held.total < least:
            least, smallest = held.total, layout
    if not found:
        estimate(model, smallest, machine).require_room()
    found.sort(key=lambda e: e.seconds)
    best = sorted(found[:simulated], key=lambda e: e.simulated.step_time)
    return best + found[simulated:]


def _divisors(number: int) -> list[int]:
    return [d for d in range(1, number + 1) if number % d == 0]


def _cuts(model: ModelConfig, tp: int) -> bool:
    return model.heads % tp == 0 and model.kv_heads % tp == 0
