"""PZ-2: gradient accumulation."""

from pathlib import Path

from helpers.grade import Submission, Task
from helpers.grade.task import load_module

pz = load_module(Path(__file__).with_name("_pz.py"), "lab_task_pz")

TASK = Task(
    id="PZ-2",
    title="one rank and one sample at a time, with one update",
    file="puzzles/eight.py",
    function="accumulation",
    notebook="09",
    points=5,
    minutes=15,
    hints=(
        "Less memory: only the activations of one sample are there at a time. But the update "
        "needs the gradient of the whole batch. What adds up?",
        "Put a loop over the samples around forward, loss and backward. Two weight gradients "
        "of one layer can be added with +, if no sample is in both. The updates come after "
        "the loop.",
        "for sample in range(model.global_batch_size): forward, loss and backward as before, "
        "with model.get_input_activation([sample]). Each gradient goes into grad_weights "
        "under a key of its own, then grad_weights[layer] = grad_weights[layer] + it (for "
        "sample 0: just it), and the key is removed. Then update every layer.",
    ),
)

CASES = (
    pz.Case(1, 2, 4, time=17, memory=1_966_080),
    pz.Case(1, 3, 6, time=37.5, memory=2_883_584),
)


def verify(submission: Submission) -> None:
    """Play what the step did again, and compare time and memory. Raises Mistake or WorkFailed."""
    pz.verify_cases(
        submission,
        TASK.function,
        CASES,
        slow="a sample needs one forward and one backward a layer, and there is one update",
        large="take one sample at a time, and keep the sum of the gradients alone",
    )
