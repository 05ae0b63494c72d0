"""PZ-4: data parallel with sharded weights."""

from pathlib import Path

from helpers.grade import Submission, Task
from helpers.grade.task import load_module

pz = load_module(Path(__file__).with_name("_pz.py"), "lab_task_pz")

TASK = Task(
    id="PZ-4",
    title="keep a shard of each weight, and gather layers when they are needed",
    file="puzzles/eight.py",
    function="weight_sharded",
    notebook="09",
    points=10,
    minutes=25,
    hints=(
        "Every rank keeps one part of each weight and of each optimizer state: "
        "model.load_weights(layer, shard, num_shards). Forward needs the whole weight. Who "
        "has the rest of it, and for how long is it needed?",
        "await model.all_gather(weights[layer], layer) puts the shards of all ranks together. "
        "Keep the result under another key, and delete it after the forward or backward that "
        "needed it. update works on a shard, if the gradient covers it.",
        "Before each forward and each backward: weights['whole'] = await "
        "model.all_gather(weights[layer], layer); after it: del weights['whole']. Reduce the "
        "gradients with all_reduce, as in PZ-3, and update the shards.",
    ),
)

CASES = (
    pz.Case(4, 6, 4, time=20.4, memory=2_752_512),
    pz.Case(3, 4, 3, time=13.6, memory=2_150_000),
)


def verify(submission: Submission) -> None:
    """Play what the step did again, and compare time and memory. Raises Mistake or WorkFailed."""
    pz.verify_cases(
        submission,
        TASK.function,
        CASES,
        slow="a layer is gathered twice and reduced once",
        large="keep one whole weight at a time",
    )
