"""PZ-7: GPipe."""

from helpers.grade import Task
from tasks import _pz

TASK = Task(
    title="one sample after the other through the pipeline",
    file="puzzles/eight.py",
    function="gpipe",
    lesson="training_puzzles",
    kind="prize",
    minutes=30,
    hints=(
        "While rank 1 works on sample 0, rank 0 could work on sample 1. How must the loops be "
        "ordered, so that a rank never waits for a sample to come back before it starts the "
        "next one?",
        "Two loops: all samples forward, then all samples backward. Keep the activations of "
        "each sample under a key of its own, such as activations[layer, sample]. The "
        "gradients of the samples are added up.",
        "for sample: get or receive the input, forward through mine, send on. Then for sample: "
        "loss or receive, backward through reversed(mine), add the gradient to "
        "grad_weights[layer], send back. Then update. Delete each activation after its backward.",
    ),
)
observe = _pz.observing(TASK.function)
name = _pz.name
cases = _pz.cases((4, 8, 4), _pz.stages)


def enough(ranks, layers, samples):
    """The pipeline is full after ranks - 1 samples; all activations, and all gradients apart."""
    each = layers // ranks
    time = (ranks - 1 + samples) * (2 * each + 0.8) - 0.8 + 0.5 * each
    return time, _pz.ELEMENTS * (2 * each + (each + 1) * samples)


passed = _pz.star(enough)
explain = _pz.judge(
    enough,
    slow="a rank sends a sample on and takes the next one at once",
    large="delete the activations of a sample after its backward, and add up its gradients",
)
