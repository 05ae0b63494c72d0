"""PZ-P2: the naive pipeline."""

from pathlib import Path

from helpers.grade import Submission, Task
from helpers.grade.task import load_module

pz = load_module(Path(__file__).with_name("_pz.py"), "lab_task_pz")

TASK = Task(
    id="PZ-P2",
    title="the naive pipeline, with any number of layers on a rank",
    file="puzzles/part2.py",
    function="part2_training_loop",
    notebook="09",
    points=15,
    minutes=30,
    hints=(
        "It is PZ-6. A rank that holds no layer has returned already. Which rank is the last "
        "stage, where there are more ranks than layers?",
        "The stage that ends with the last layer (after == model.num_layers) computes the "
        "loss; the one that begins with layer 0 takes the input. The others receive from rank "
        "- 1 and, for the way back, from rank + 1.",
        "As PZ-6, with `first == 0` and `after == model.num_layers` in place of the first and "
        "the last rank.",
    ),
)

CASES = (
    pz.Case(4, 16, 2048, profile="classic", time=2.74, memory=6.6e10),
    pz.Case(3, 7, 64, profile="classic", time=0.0403, memory=1.5e9),
    pz.Case(4, 2, 8, profile="classic", time=0.00174, memory=1.4e8),
    pz.Case(1, 3, 8, profile="classic", time=0.00208, memory=3.0e8),
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
