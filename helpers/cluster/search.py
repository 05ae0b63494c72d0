"""Every layout of a model on a number of devices, the fastest first."""

from collections.abc import Iterator
from itertools import product

from helpers.cluster.estimate import Estimate, estimate
from helpers.cluster.layout import Layout
from helpers.cluster.machine import Machine
from helpers.cluster.parts import memory
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
    tried = {"recompute": ("none", "selective", "full"), "zero": (0, 1)}
    tried |= {"sequence_parallel": (False, True)}
    free = {name: choices for name, choices in tried.items() if name not in same}
    divisors, cp = [d for d in range(1, gpus + 1) if gpus % d == 0], same.get("cp", 1)
    for tp, pp, micro in product(divisors, divisors, MICRO_BATCHES):
        dp = gpus // (tp * pp * cp)
        if tp > machine.node or dp * tp * pp * cp != gpus or batch % (dp * micro):
            continue
        if model.heads % tp or model.kv_heads % tp:
            continue
        for chunks, *chosen in product(CHUNKS, *free.values()):
            if chunks > 1 and (pp == 1 or batch // (dp * micro) % pp):
                continue
            fields = dict(zip(free, chosen, strict=True))
            if (fields.get("zero") and dp * cp == 1) or (
                fields.get("sequence_parallel") and tp == 1
            ):
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
    if not isinstance(gpus, int) or gpus < 1:
        raise ValueError(f"search(gpus={gpus!r}): give a whole number, 1 or more")
    needs = {
        layout: memory(model, layout).total
        for layout in layouts(model, machine, gpus, batch, sequence, **same)
    }
    if not needs:
        raise ValueError(
            f"a batch of {batch} on {gpus} devices: no layout cuts {model.layers} layers, "
            f"{model.heads} heads and the batch evenly; choose a batch or devices with more "
            "divisors"
        )
    fitting = [layout for layout, size in needs.items() if size <= machine.memory]
    if not fitting:
        estimate(model, min(needs, key=needs.get), machine).require_room()
    found = [estimate(model, layout, machine) for layout in fitting]
    return sorted(found, key=lambda e: e.seconds)
