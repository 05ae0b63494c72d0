"""PZ-5: fully sharded data parallel."""

from pathlib import Path

from helpers.grade import Submission, Task
from helpers.grade.task import load_module

pz = load_module(Path(__file__).with_name("_pz.py"), "lab_task_pz")

TASK = Task(
    id="PZ-5",
    title="shard the gradients too",
    file="puzzles/eight.py",
    function="fully_sharded",
    notebook="09",
    points=10,
    minutes=15,
    hints=(
        "In PZ-4 each rank ends up with the whole gradient of every layer, but updates only "
        "one shard. What part of the summed gradient does it need?",
        "await model.reduce_scatter(gradient, layer) sums over the ranks and gives rank r "
        "shard r of the sum. When should it be called, so that few whole gradients are there "
        "at a time?",
        "As PZ-4, but right after the backward of a layer: grad_weights[layer] = await "
        "model.reduce_scatter(grad_weights[layer], layer).",
    ),
)

CASES = (
    pz.Case(4, 6, 4, time=20.4, memory=2_359_296),
    pz.Case(3, 4, 3, time=13.6, memory=1_750_000),
)


def verify(submission: Submission) -> None:
    """Play what the step did again, and compare time and memory. Raises Mistake or WorkFailed."""
    pz.verify_cases(
        submission,
        TASK.function,
        CASES,
        slow="a layer is gathered twice and reduced once",
        large="cut the gradient of a layer into shards right after its backward",
    )
