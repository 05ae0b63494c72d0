"""PZ-3: data parallel."""

from pathlib import Path

from helpers.grade import Submission, Task
from helpers.grade.task import load_module

pz = load_module(Path(__file__).with_name("_pz.py"), "lab_task_pz")

TASK = Task(
    id="PZ-3",
    title="each rank takes one sample; sum the gradients over the ranks",
    file="puzzles/eight.py",
    function="ddp",
    notebook="09",
    points=10,
    minutes=20,
    hints=(
        "Each rank has all weights and does what one rank did, for its own sample. What do "
        "the ranks have to tell each other before the update?",
        "await model.all_reduce(gradient, layer) gives every rank the sum of the gradients of "
        "all ranks. All ranks must call it, for the same layers in the same order.",
        "As in PZ-1 with model.get_input_activation([model.rank]). After the backward of a "
        "layer: grad_weights[layer] = await model.all_reduce(grad_weights[layer], layer). "
        "Then update every layer.",
    ),
)

CASES = (
    pz.Case(4, 2, 4, time=5.6, memory=1_835_008),
    pz.Case(7, 3, 7, time=8.4, memory=2_621_440),
)


def verify(submission: Submission) -> None:
    """Play what the step did again, and compare time and memory. Raises Mistake or WorkFailed."""
    pz.verify_cases(
        submission,
        TASK.function,
        CASES,
        slow="each rank takes its own sample alone, and each layer is reduced once",
        large="delete each activation and gradient after the backward that needs it last",
    )
