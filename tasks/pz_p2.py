"""PZ-P2: the naive pipeline."""

from helpers.grade import Task
from tasks import _pz

TASK = Task(
    title="the naive pipeline, with any number of layers on a rank",
    file="puzzles/part2.py",
    function="part2_training_loop",
    lesson="training_puzzles",
    page="puzzles/README.md",
    kind="prize",
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
observe = _pz.observing(TASK.function)
name = _pz.name
cases, enough = _pz.listed(
    {  # ranks, layers, samples: time and memory
        (4, 16, 2048): (2.74, 6.6e10),
        (3, 7, 64): (0.0403, 1.5e9),
        (4, 2, 8): (0.00174, 1.4e8),
        (1, 3, 8): (0.00208, 3.0e8),
    }
)

explain = _pz.judge(
    enough,
    slow="nothing is sent twice, and each rank works only on its own layers",
    large="load only the layers of this rank, and delete what has been used",
)
