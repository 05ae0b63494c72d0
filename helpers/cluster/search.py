"""Every layout of a model on a number of devices, the fastest first."""

from collections.abc import Iterator
from itertools import product

from helpers.cluster.estimate import Estimate
from helpers.cluster.layout import Layout
from helpers.cluster.machine import Machine
from helpers.cost import RECOMPUTE, ModelConfig
from helpers.cost.model import is_size

MICRO_BATCHES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
CHUNKS = (1, 2, 3, 4, 6, 8)
TRIED = {"recompute": RECOMPUTE, "zero": (0, 1), "sequence_parallel": (False, True)}


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
    free = {name: choices for name, choices in TRIED.items() if name not in same}
    divisors, cp = [d for d in range(1, gpus + 1) if gpus % d == 0], same.get("cp", 1)
    for tp, pp, micro in product(divisors, divisors, MICRO_BATCHES):
        dp = gpus // (tp * pp * cp)
        if tp > machine.node or dp * tp * pp * cp != gpus or batch % (dp * micro):
            continue
        for chunks, *chosen in product(CHUNKS, *free.values()):
            fields = dict(zip(free, chosen, strict=True))
            if fields.get("zero") and dp * cp == 1:
                continue
            if fields.get("sequence_parallel") and tp == 1:
                continue
            if chunks > 1 and (pp == 1 or batch // (dp * micro) % pp):
                continue
            sizes = batch, sequence or model.positions, dp, pp, tp, chunks, micro
            try:
                yield Layout(*sizes, **fields, **same).for_model(model)
            except ValueError:
                continue


def search(
    model: ModelConfig,
    machine: Machine,
    gpus: int,
    batch: int,
    sequence: int | None = None,
    **same,
) -> list[Estimate]:
    """All layouts that fit into memory, the fastest first; same: see `layouts`.

    Raises ValueError, one sentence, where there is no layout, or none fits.
    """
    if not is_size(gpus):
        raise ValueError(f"search(gpus={gpus!r}): give a whole number, 1 or more")
    every = layouts(model, machine, gpus, batch, sequence, **same)
    every = [Estimate(model, layout, machine) for layout in every]
    if not every:
        raise ValueError(
            f"a batch of {batch} on {gpus} devices: no layout cuts {model.layers} layers, "
            f"{model.heads} heads and the batch evenly; choose a batch or devices with more "
            "divisors"
        )
    found = [each for each in every if each.fits]
    if not found:
        min(every, key=lambda each: each.memory.total).require_room()
    return sorted(found, key=lambda each: each.seconds)
