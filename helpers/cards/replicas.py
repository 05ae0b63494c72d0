"""A data-parallel step, in which each layer's gradients are averaged once all have them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from random import Random

from helpers.cards.measured import SCALE, TOLD, replica_step
from helpers.cards.questions import Card, Choice, Number
from helpers.trace import Event, Trace

REPLICA_FAULTS = {
    "slow rank": "one rank takes longer for everything it computes",
    "slow link": "gradients take too long on the way, on all ranks alike",
    "no overlap": "gradients travel only after the whole backward",
    "wrong group": "ranks average with some of the others, not with all",
}
REPLICA_CHANGES = {
    "equal ranks": "a rank as fast as the others",
    "overlap": "send each layer's gradients as soon as they are there",
    "fast links": "links that are twice as fast",
    "right group": "one group of all ranks",
}
MARGIN = 1.04  # the best change is better than the second by this factor, or the card is redrawn


@dataclass(frozen=True)
class Replicas:
    """A step of n replicas. All times in ms.

    input: until each rank has its data. forward: of all layers. backward: of one layer.
    speed: of each rank. all_reduce: of one layer's gradients. groups: who averages with whom.
    overlap: whether gradients travel during the backward of earlier layers, or after all of it.
    """

    layers: int
    input: Sequence[float]
    forward: float
    backward: float
    all_reduce: float
    speed: Sequence[float]
    groups: Sequence[Sequence[int]]
    overlap: bool = True


def replicas(step: Replicas) -> Trace:
    """Return the trace of a step: F, then B of the last layer first, and the all-reduces."""
    events, ready = [], {}
    for rank, speed in enumerate(step.speed):
        time = step.input[rank] + step.forward / speed
        events.append(Event(rank, "F", step.input[rank], time))
        for layer in reversed(range(step.layers)):
            end = time + step.backward / speed
            events.append(Event(rank, "B", time, end, info={"micro_batch": layer}))
            ready[rank, layer] = time = end
        for layer in range(step.layers) if not step.overlap else ():
            ready[rank, layer] = time
    for group in step.groups:
        free = 0.0
        for layer in reversed(range(step.layers)):
            start = max(free, *(ready[rank, layer] for rank in group))
            free = start + step.all_reduce
            facts = {"group": list(group), "layer": layer}
            for rank in group:
                events.append(Event(rank, "all-reduce", start, free, "communication", "", facts))
    return Trace(sorted(events, key=lambda e: (e.start, e.rank)), {"unit": "ms"})


def _end(step: Replicas) -> float:
    """When the last message of a step has arrived, in ms."""
    return max(event.end for event in replicas(step).events)


def data_parallel(rng: Random, name: str, measured: bool = False) -> Card | None:
    """Draw a data-parallel step; None for one that leaves a doubt."""
    n, layers = 4, rng.choice((3, 4))
    scale = SCALE if measured else 1
    b, a = scale * rng.choice((8, 10, 12)), scale * rng.choice((3, 4, 5))
    f = layers * b // 2
    everyone = [list(range(n))]
    data = [scale * rng.randrange(4) for _ in range(n)]
    data[rng.randrange(n)] = 0
    healthy = Replicas(layers, data, f, b, a, [1.0] * n, everyone)
    fault = rng.choice(list(REPLICA_FAULTS))
    step, where = healthy, "all"
    if fault == "slow rank":
        rank, slower = rng.randrange(n), rng.choice((1.25, 1.5, 2.0))
        step = replace(healthy, speed=[1 / slower if r == rank else 1.0 for r in range(n)])
        where, cause = str(rank), f"rank {rank} takes {slower:g} times as long"
    elif fault == "slow link":
        step = replace(healthy, all_reduce=b * rng.choice((1.5, 2)))
        cause = f"an all-reduce takes {step.all_reduce:g} ms in place of {a}"
    elif fault == "no overlap":
        step, cause = replace(healthy, overlap=False), "nothing travels during backward"
    else:
        partner = rng.randrange(1, n)
        rest = [r for r in range(1, n) if r != partner]
        step = replace(healthy, groups=[[0, partner], rest])
        where, cause = str(partner), f"ranks 0 and {partner} average, and {rest[0]} and {rest[1]}"
        by_pair = [max(healthy.input[r] for r in group) for group in step.groups]
        if by_pair[0] == by_pair[1]:  # both pairs would send at the same time
            return None
    took = _end(step)
    after = {
        "equal ranks": _end(replace(step, speed=[1.0] * n)),
        "overlap": _end(replace(step, overlap=True)),
        "fast links": _end(replace(step, all_reduce=step.all_reduce / 2)),
    }
    best, second = sorted(after.values())[:2]
    if fault != "wrong group" and second < MARGIN * best:
        return None
    first = "right group" if fault == "wrong group" else min(after, key=after.get)
    mended = _end(healthy)
    plan = replicas(step)
    busy = sum(e.duration for e in plan.events if e.rank == 0 and e.lane == "compute")
    idle = 100 * (1 - busy / took)
    sent = sum(e.duration for e in plan.events if e.rank == 0 and e.lane == "communication")
    questions = (
        Choice("fault", "What is wrong?", 3, fault, REPLICA_FAULTS),
        Choice("where", "Where? The number of the slow rank, or of the one with which rank 0 "
               "averages if not with all; otherwise the word all.", 2, where),
        Number(
            "idle", "In what share of the step does rank 0 compute nothing, from 0 to the end of "
            "the last message of any rank?", 3, idle, "%", 5.0 if measured else 2.0,
            {
                "that is the share in which it computes": 100 - idle,
                "that is the time of its messages, and some of it is hidden": 100 * sent / took,
                "that is idle time over computing time": 100 * idle / (100 - idle),
            },
        ),
        Number(
            "mended", "How long would the step take with this mended?", 3, mended, "ms",
            (0.05 if measured else 0.03) * mended,
            {
                "that is what it would save": took - mended,
                "that is computing alone: the last message hides behind nothing":
                    max(healthy.input) + f + layers * b,
                "that is the step as it is": took,
            },
        ),
        Choice("first", "Which change comes first?", 2, first, REPLICA_CHANGES),
    )  # fmt: skip
    facts = (
        f"{n} replicas, {layers} layers. The step takes {took:g} ms. Ranks begin as data comes.",
        f"Where nothing is wrong F takes {f} ms, B of a layer {b} ms and an all-reduce of its "
        f"gradients {a} ms. One link: an all-reduce begins when the one before it has ended.",
    )
    story = f"{cause}; {', '.join(f'{k} {v:.4g} ms' for k, v in after.items())}"
    if measured:
        return Card(name, (*facts, TOLD), partial(replica_step, step), questions, story)
    return Card(name, facts, lambda: plan, questions, story)
