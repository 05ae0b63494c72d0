"""PZ-6: the naive pipeline."""

from helpers.grade import Task
from tasks import _pz

TASK = Task(
    title="pass the whole batch through a pipeline of ranks",
    file="puzzles/eight.py",
    function="pipeline",
    lesson="training_puzzles",
    kind="prize",
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
observe = _pz.observing(TASK.function)
name = _pz.name
cases = _pz.cases((4, 8, 4), _pz.stages)


def enough(ranks, layers, samples):
    """One rank works at a time, and a message between two costs 0.2 at each end."""
    each = layers // ranks
    time = 2 * layers * samples + 0.8 * (ranks - 1) + 0.5 * each
    return time, _pz.ELEMENTS * (2 * each + (each + 2) * samples / 2)


passed = _pz.star(enough)
explain = _pz.judge(
    enough,
    slow="nothing is sent twice, and each rank works only on its own layers",
    large="load only the layers of this rank, and delete what has been used",
)
