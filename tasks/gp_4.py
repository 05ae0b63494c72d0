"""GP-4 (problem 2.1): what the parts of a pipeline compute at each tick of the clock."""

from pathlib import Path

from helpers.grade import Mistake, Submission, Task
from helpers.grade.task import load_module

gp = load_module(Path(__file__).with_name("_gp.py"), "lab_task_gp")

TASK = Task(
    id="GP-4",
    title="say which micro-batch is in which part at each tick of the clock",
    file="gpt2/pipeline/pipe.py",
    function="_clock_cycles",
    notebook="16",
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
SIZES = [(6, 2), (3, 3), (1, 4), (5, 1), (2, 4)]


def work(module, seed):
    return [[list(cycle) for cycle in module._clock_cycles(*size)] for size in SIZES]


def verify(submission: Submission) -> None:
    """Raises Mistake or WorkFailed."""
    (found,) = submission.on_ranks(work, 1, submission.seed)
    for (batches, parts), cycles in zip(SIZES, found, strict=True):
        judge(f"{batches} micro-batches, {parts} parts", batches, parts, cycles)


def judge(where, batches, parts, cycles):
    """One size. Raises Mistake."""
    done = [tuple(pair) for cycle in cycles for pair in cycle]
    expected = {(i, j) for i in range(batches) for j in range(parts)}
    for pair in done:
        if pair not in expected:
            swapped = " (the micro-batch comes first)" if pair[::-1] in expected else ""
            raise Mistake(f"{where}: there is no micro-batch {pair[0]} in part {pair[1]}{swapped}")
        if done.count(pair) > 1:
            raise Mistake(f"{where}: micro-batch {pair[0]} is in part {pair[1]} twice")
    lacking = min(expected - set(done), default=None)
    if lacking:
        raise Mistake(f"{where}: micro-batch {lacking[0]} never comes to part {lacking[1]}")
    when = {tuple(pair): k for k, cycle in enumerate(cycles) for pair in cycle}
    for (i, j), k in sorted(when.items()):
        if j and when[i, j - 1] >= k:
            raise Mistake(
                f"{where}: micro-batch {i} is in part {j} at tick {k}, and part {j - 1} has not "
                "done it before"
            )
        if k > i + j:
            raise Mistake(
                f"{where}: micro-batch {i} is in part {j} at tick {k}, and could be at {i + j}: "
                "parts work at the same time"
            )
    if len(cycles) != batches + parts - 1:
        raise Mistake(f"{where}: there are {len(cycles)} ticks, not {batches + parts - 1}")
