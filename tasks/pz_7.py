"""PZ-7: GPipe."""

from pathlib import Path

from helpers.grade import Submission, Task
from helpers.grade.task import load_module

pz = load_module(Path(__file__).with_name("_pz.py"), "lab_task_pz")

TASK = Task(
    id="PZ-7",
    title="one sample after the other through the pipeline",
    file="puzzles/eight.py",
    function="gpipe",
    notebook="09",
    points=15,
    minutes=30,
    hints=(
        "While rank 1 works on sample 0, rank 0 could work on sample 1. How must the loops be "
        "ordered, so that a rank never waits for a sample to come back before it starts the "
        "next one?",
        "Two loops: all samples forward, then all samples backward. Keep the activations of "
        "each sample under a key of its own, such as activations[layer, sample]. The "
        "gradients of the samples are added up.",
        "for sample: get or receive the input, forward through mine, send on. Then for "
        "sample: loss or receive, backward through reversed(mine), add the gradient to "
        "grad_weights[layer], send back. Then update. Delete each activation after its "
        "backward.",
    ),
)

CASES = (
    pz.Case(4, 8, 4, time=33.8, memory=4_194_304),
    pz.Case(3, 3, 6, time=22.1, memory=3_145_728),
)


def verify(submission: Submission) -> None:
    """Play what the step did again, and compare time and memory. Raises Mistake or WorkFailed."""
    pz.verify_cases(
        submission,
        TASK.function,
        CASES,
        slow="a rank sends a sample on and takes the next one at once",
        large="delete the activations of a sample after its backward, and add up its gradients",
    )
