"""PZ-6: the naive pipeline."""

from pathlib import Path

from helpers.grade import Submission, Task
from helpers.grade.task import load_module

pz = load_module(Path(__file__).with_name("_pz.py"), "lab_task_pz")

TASK = Task(
    id="PZ-6",
    title="pass the whole batch through a pipeline of ranks",
    file="puzzles/eight.py",
    function="pipeline",
    notebook="09",
    points=10,
    minutes=25,
    hints=(
        "Each rank loads only its own layers. Which rank has the input of the model, and "
        "where do the others get theirs? Which rank can compute the loss?",
        "await model.send(rank, value) and await model.receive(rank). Forward: receive from "
        "rank - 1, compute, send to rank + 1. Backward: the other way round. The gradient "
        "that a stage sends back is grad_activations[first - 1].",
        "rank 0: get_input_activation(range(model.global_batch_size)); others: receive. "
        "Forward through mine. The last rank: loss; others: send activations[after], then "
        "receive grad_activations[after - 1]. Backward through reversed(mine). rank > 0: send "
        "grad_activations[first - 1] back. Update mine.",
    ),
)

CASES = (
    pz.Case(4, 8, 4, time=67.4, memory=3_145_728),
    pz.Case(3, 3, 2, time=14.1, memory=1_310_720),
)


def verify(submission: Submission) -> None:
    """Play what the step did again, and compare time and memory. Raises Mistake or WorkFailed."""
    pz.verify_cases(
        submission,
        TASK.function,
        CASES,
        slow="nothing is sent twice, and each rank works only on its own layers",
        large="load only the layers of this rank, and delete what has been used",
    )
