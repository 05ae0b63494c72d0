"""GP-4 (problem 2.1): what the parts of a pipeline compute at each tick of the clock."""

from helpers.grade import Task
from tasks import _gp  # noqa: F401

TASK = Task(
    id="GP-4",
    title="say which micro-batch is in which part at each tick of the clock",
    file="gpt2/pipeline/pipe.py",
    function="_clock_cycles",
    notebook="20",
    points=10,
    minutes=20,
    hints=(
        "Draw it: parts as rows, ticks as columns. At which tick does micro-batch 0 enter part 2? "
        "And micro-batch 3?",
        "Micro-batch i is in part j at tick i + j. So at tick k, part j has micro-batch k - j, if "
        "there is such a micro-batch.",
        "For each tick from 0 to num_batches + num_partitions - 2, yield the list of (k - j, j) "
        "for all parts j with 0 <= k - j < num_batches.",
    ),
)


def run(module, case):
    """The pairs of each tick, in any order. case: [micro-batches, parts]."""
    return [sorted(map(tuple, cycle)) for cycle in module._clock_cycles(*case)]
