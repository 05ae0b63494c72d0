"""Every layout of a model on a number of devices, the fastest first."""

import math
import sys
import time
from collections.abc import Iterator
from itertools import product

from helpers.cluster.estimate import Estimate, estimate
from helpers.cluster.layout import Layout
from helpers.cluster.machine import Machine
from helpers.cluster.memory import memory
from helpers.cost import ModelConfig
from helpers.cost.states import ZERO as ZEROS

MICRO_BATCHES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
RECOMPUTE = ("none", "selective", "full")
CHUNKS = (1, 2, 3, 4, 6, 8)
ZERO = (0, 1)
DRAWN = ("recompute", "zero", "cp", "ep", "replicate", "uneven")  # what `layouts` chooses


def layouts(
    model: ModelConfig,
    machine: Machine,
    gpus: int,
    batch: int,
    sequence: int | None = None,
    wide: bool = False,
    **same,
) -> Iterator[Layout]:
    """All layouts that the model and the devices can be cut into.

    Tensor parallelism stays inside a node, and chunks come with a number of micro-batches that the
    stages divide, as Megatron-LM demands (`Layout` itself takes any number). Of ZeRO: 0 and 1.
    wide: also ZeRO 2 and 3 (FSDP); HSDP whose groups are a node each; sequences and experts cut by
    any power of two; recompute="op"; and of uneven stages those without chunks, and chunks of one
    layer with none at both ends, as Llama 3's. What can't differ is left out: with fused attention
    "selective" is "none".
    same: fields that all of them have, as ``flash=True``; `recompute`, `zero`, `cp` ... too.
    """
    sequence = sequence or model.positions
    choices = _choices(model, gpus, wide) | {n: (v,) for n, v in same.items() if n in DRAWN}
    rest = {name: value for name, value in same.items() if name not in DRAWN}
    tps = [t for t in _divisors(gpus) if t <= machine.node and _cuts(model, t)]
    hows, zeros, cps = (choices[name] for name in ("recompute", "zero", "cp"))
    if wide and rest.get("flash"):  # no scores are kept that could be computed again
        hows = [how for how in hows if how != "selective"]
    for tp, (micro, how, zero, cp) in product(tps, product(MICRO_BATCHES, hows, zeros, cps)):
        if gpus % (tp * cp) or (cp > 1 and sequence % (2 * cp)):
            continue
        if rest.get("context") == "ulysses" and model.heads // tp % cp:
            continue
        for pp in _divisors(gpus // (tp * cp)):
            dp = gpus // (tp * pp * cp)
            if batch % (dp * micro) or (zero and dp * cp == 1):
                continue
            pieces = batch // (dp * micro)
            groups = list(_groups(dp * cp, tp, zero, machine, choices))
            for chunks in CHUNKS:
                if chunks > 1 and (pp == 1 or pieces % pp):
                    continue
                short, ends = -model.layers % (pp * chunks), model.layers + 2
                goes = pp * chunks == ends if chunks > 1 else pp <= ends
                if short and not (choices["uneven"][0] and goes):
                    continue
                both = tp > 1 and "sequence_parallel" not in rest
                for shared, (replicate, ep) in product((False, True)[: 1 + both], groups):
                    fields = {"sequence_parallel": shared, "zero": zero, "cp": cp, "ep": ep} | rest
                    fields |= {"replicate": replicate, "uneven": bool(short)}
                    yield Layout(batch, sequence, dp, pp, tp, chunks, micro, how, **fields)


def search(
    model: ModelConfig,
    machine: Machine,
    gpus: int,
    batch: int,
    sequence: int | None = None,
    simulated: int = 0,
    wide: bool = False,
    **same,
) -> list[Estimate]:
    """All layouts that fit into memory, the fastest first; wide, same: see `layouts`.

    simulated: so many of the best are put on a clock, and ordered by what it says. What takes more
    than five seconds says how far it is, on the standard error.
    Raises ValueError, one sentence, where there is no layout, or none fits.
    """
    if not isinstance(gpus, int) or gpus < 1:
        raise ValueError(f"search(gpus={gpus!r}): give a whole number, 1 or more")
    tried = list(layouts(model, machine, gpus, batch, sequence, wide, **same))
    if not tried:
        raise ValueError(
            f"a batch of {batch} on {gpus} devices: no layout cuts {model.layers} layers, "
            f"{model.heads} heads and the batch evenly; choose a batch or devices with more "
            "divisors"
        )
    found, least, said, line = [], math.inf, time.monotonic(), ""
    for number, layout in enumerate(tried):
        held = memory(model, layout)
        if held.total <= machine.memory:
            found.append(estimate(model, layout, machine, held=held))
        elif held.total < least:
            least, smallest = held.total, layout
        if not number % 100 and time.monotonic() - said > (1 if line else 5):
            said, line = time.monotonic(), f"\r{number:,} of {len(tried):,} layouts"
            print(line, end="", file=sys.stderr, flush=True)
    if line:
        print("\r" + " " * len(line), end="\r", file=sys.stderr, flush=True)
    if not found:
        estimate(model, smallest, machine).require_room()
    found.sort(key=lambda e: e.seconds)
    best = sorted(found[:simulated], key=lambda e: e.simulated.step_time)
    return best + found[simulated:]


def _choices(model: ModelConfig, gpus: int, wide: bool) -> dict[str, tuple]:
    """What each field of `DRAWN` may be, before its own rules are asked."""
    if not wide:
        narrow = {"recompute": RECOMPUTE, "zero": ZERO, "uneven": (False,)}
        return narrow | {"cp": (1,), "ep": (1,), "replicate": (1,)}
    powers = tuple(2**k for k in range(gpus.bit_length()))
    experts = model.moe.experts if model.moe else 1
    return {
        "recompute": RECOMPUTE if model.moe else (*RECOMPUTE[:-1], "op", "full"),
        "zero": tuple(ZEROS),
        "uneven": (True,),
        "cp": powers[: 1 + gpus.bit_length() // 2],
        "ep": tuple(ep for ep in powers if experts % ep == 0),
        "replicate": (1, 0),  # 0: so many that a group is a node
    }


def _groups(
    replicas: int, tp: int, zero: int, machine: Machine, choices: dict[str, tuple]
) -> Iterator[tuple[int, int]]:
    """The (replicate, ep) that go with so many replicas; each once."""
    node = replicas * tp // machine.node
    copies = dict.fromkeys(copies or node for copies in choices["replicate"])
    for replicate, ep in product(copies, choices["ep"]):
        if replicate and replicas % replicate == 0 and replicas % ep == 0:
            if replicate == 1 or (zero and ep == 1):
                yield replicate, ep


def _divisors(number: int) -> list[int]:
    small = [d for d in range(1, math.isqrt(number) + 1) if number % d == 0]
    return sorted({*small, *(number // d for d in small)})


def _cuts(model: ModelConfig, tp: int) -> bool:
    return model.heads % tp == 0 and model.kv_heads % tp == 0
