"""PZ-7: GPipe."""

from helpers.grade import Task
from tasks import _pz

TASK = Task(
    id="PZ-7",
    title="one sample after the other through the pipeline",
    file="puzzles/eight.py",
    function="gpipe",
    notebook="16",
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
run = _pz.run_of(TASK.function)
