"""GP-1 (problem 1.1): cut a data set into parts without losing a sample."""

from helpers.grade import Task
from tasks import _gp  # noqa: F401

TASK = Task(
    id="GP-1",
    title="cut a data set into parts, and lose no sample",
    file="gpt2/data_parallel/dataset.py",
    function="cut",
    notebook="20",
    points=10,
    minutes=10,
    hints=(
        "A part is a list of the samples' numbers. In which order should the numbers be before "
        "they're cut? And what happens to 50 samples if each of 3 parts has int(50 / 3)?",
        "Shuffle with a generator of your own, random.Random(seed). Then round where each part "
        "ends, not how long it is: the next part begins there, so nothing gets lost in between.",
        "Part k ends at round(samples * (the sum of sizes up to and including k)), and begins "
        "where part k - 1 ends.",
    ),
)


def run(module, case):
    """The parts that the work cuts; again, by the same seed; and by another seed.

    case: {"samples", "sizes", "seed", "another": a seed}.
    """
    seeds = {"parts": case["seed"], "again": case["seed"], "another": case["another"]}
    return {
        name: [list(map(int, part)) for part in module.cut(case["samples"], case["sizes"], seed)]
        for name, seed in seeds.items()
    }
