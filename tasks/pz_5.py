"""PZ-5: fully sharded data parallel."""

from helpers.grade import Task
from tasks import _pz

TASK = Task(
    id="PZ-5",
    title="shard the gradients too",
    file="puzzles/eight.py",
    function="fully_sharded",
    notebook="16",
    points=10,
    minutes=15,
    hints=(
        "In PZ-4 each rank ends up with the whole gradient of every layer, but updates only "
        "one shard. What part of the summed gradient does it need?",
        "await model.reduce_scatter(gradient, layer) sums over the ranks and gives rank r "
        "shard r of the sum. When should it be called, so that a rank holds few whole "
        "gradients at a time?",
        "As PZ-4, but right after the backward of a layer: grad_weights[layer] = await "
        "model.reduce_scatter(grad_weights[layer], layer).",
    ),
)
run = _pz.run_of(TASK.function)
