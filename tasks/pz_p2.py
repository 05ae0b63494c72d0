"""PZ-P2: the naive pipeline."""

from helpers.grade import Task
from tasks import _pz

TASK = Task(
    id="PZ-P2",
    title="the naive pipeline, with any number of layers on a rank",
    file="puzzles/part2.py",
    function="part2_training_loop",
    notebook="16",
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
run = _pz.run_of(TASK.function)
