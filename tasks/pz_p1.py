"""PZ-P1: ZeRO, stage 3."""

from helpers.grade import Task
from tasks import _pz

TASK = Task(
    title="ZeRO: shard weights, gradients and optimizer states",
    file="puzzles/part1.py",
    function="part1_training_loop",
    lesson="training_puzzles",
    page="puzzles/README.md",
    kind="prize",
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
observe = _pz.observing(TASK.function)
name = _pz.name
cases, enough = _pz.listed(
    {  # ranks, layers, samples, micro-batch: time and memory
        (32, 64, 256, 8): (0.1845, 2.9e9),
        (4, 6, 32, 2): (0.0130, 2.0e8),
        (1, 2, 4, 2): (0.00236, 1.9e8),
    }
)

explain = _pz.judge(
    enough,
    slow="gather twice and reduce once for each layer and micro-batch",
    large="keep one whole weight and one whole gradient at a time",
)
