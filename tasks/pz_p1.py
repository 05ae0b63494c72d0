"""PZ-P1: ZeRO, stage 3."""

from pathlib import Path

from helpers.grade import Submission, Task
from helpers.grade.task import load_module

pz = load_module(Path(__file__).with_name("_pz.py"), "lab_task_pz")

TASK = Task(
    id="PZ-P1",
    title="ZeRO: shard weights, gradients and optimizer states",
    file="puzzles/part1.py",
    function="part1_training_loop",
    notebook="09",
    points=20,
    minutes=45,
    hints=(
        "It is PZ-5 with several micro-batches on each rank. What do you keep from one "
        "micro-batch to the next, and in what form?",
        "Shards can be added: grad_weights[layer] + the new shard. So reduce_scatter each "
        "micro-batch's gradient, and add the shards up.",
        "Load shards. For each micro-batch: gather before each forward and backward, "
        "reduce_scatter after each backward, add the shard to grad_weights[layer]. In the end "
        "update each shard.",
    ),
)

CASES = (
    pz.Case(32, 64, 256, (8,), profile="classic", time=0.1845, memory=2.9e9),
    pz.Case(4, 6, 32, (2,), profile="classic", time=0.0130, memory=2.0e8),
    pz.Case(1, 2, 4, (2,), profile="classic", time=0.00236, memory=1.9e8),
)


def verify(submission: Submission) -> None:
    """Play what the step did again, and compare time and memory. Raises Mistake or WorkFailed."""
    pz.verify_cases(
        submission,
        TASK.function,
        CASES,
        slow="gather twice and reduce once for each layer and micro-batch",
        large="keep one whole weight and one whole gradient at a time",
    )
