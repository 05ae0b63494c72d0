"""PZ-P1: ZeRO, stage 3."""

from helpers.grade import Task
from tasks import _pz

TASK = Task(
    id="PZ-P1",
    title="ZeRO: shard weights, gradients and optimizer states",
    file="puzzles/part1.py",
    function="part1_training_loop",
    notebook="16",
    points=20,
    minutes=45,
    hints=(
        "It is PZ-5 with several micro-batches on each rank. What do you keep from one "
        "micro-batch to the next, and in what form?",
        "Shards can be added: grad_weights[layer] + the new shard. So reduce_scatter each "
        "micro-batch's gradient, and add the shards up.",
        "Load shards. For each micro-batch: gather before each forward and backward, "
        "reduce_scatter after each backward, add the shard to grad_weights[layer]. In the end "
        "update each shard.",
    ),
)
run = _pz.run_of(TASK.function)
