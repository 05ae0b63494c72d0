"""PZ-6: the naive pipeline."""

from helpers.grade import Task
from tasks import _pz

TASK = Task(
    id="PZ-6",
    title="pass the whole batch through a pipeline of ranks",
    file="puzzles/eight.py",
    function="pipeline",
    notebook="16",
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
run = _pz.run_of(TASK.function)
