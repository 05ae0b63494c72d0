"""GP-4 (problem 2.1): say which micro-batch is in which part at each tick of the clock."""

import random

NAME = "{0} micro-batches, {1} parts"
LESSON, MINUTES = "micro_batches", 20
PAGE = "gpt2/README.md"


def observe(module, case):
    """Which micro-batch is in which part at each tick. case: (micro-batches, parts)."""
    seen = {}
    for tick, cycle in enumerate(module._clock_cycles(*case)):
        at = seen[f"tick {tick}"] = {}
        for i, j in cycle:
            at[f"part {j}"] = " and ".join(filter(None, (at.get(f"part {j}"), f"micro-batch {i}")))
    return seen


def cases():
    """More micro-batches than parts, or fewer, and two that are drawn."""
    drawn = [(random.randint(2, 9), random.randint(2, 6)) for _ in range(2)]
    return [(6, 2), (3, 3), (1, 4), (5, 1), (2, 4), *drawn]


EACH = "for i in range(num_batches) for j in range(num_partitions)"
TICKS = "there are num_batches + num_partitions - 1"
MUTANTS = {
    (" + num_partitions - 1", ""): "the clock stops when the last micro-batch has entered, and it "
    f"is still in part 0 then: {TICKS} ticks",
    ("num_partitions - 1", "num_partitions - 2"): f"the last tick is missing: {TICKS}",
    (" - 1", ""): f"one tick too many, in which nothing is done: {TICKS}",
    ("(cycle - j, j)", "(j, cycle - j)"): "in each pair the micro-batch comes first, then the part",
    ("j in range(num_partitions)", "j in range(cycle + 1)"): "a micro-batch goes on after the last "
    "part: the parts are 0 to num_partitions - 1",
    (" < num_batches", ""): "more micro-batches enter than there are: they are 0 to num_batches - "
    "1",
    ("0 <= ", ""): "a part has work before micro-batch 0 has come: leave away those below 0",
    ("0 <= ", "0 < "): "micro-batch 0 is left away: they are counted from 0",
    f"yield [(i, j) {EACH}]": "all is done in the first tick, and a part needs what the part "
    "before has made of a micro-batch: it has not done it before",
    f"yield from ([(i, j)] {EACH})": "one after the other: parts work at the same time, each on "
    "another micro-batch",
    ("[(cycle - j, j)", "[(num_batches - 1 - cycle + j, j)"): "the micro-batches come in the wrong "
    "order: 0 enters first",
}
