"""PZ-4: data parallel with sharded weights."""

from helpers.grade import Task
from tasks import _pz

TASK = Task(
    id="PZ-4",
    title="keep a shard of each weight, and gather layers when they are needed",
    file="puzzles/eight.py",
    function="weight_sharded",
    notebook="16",
    points=10,
    minutes=25,
    hints=(
        "Every rank keeps one part of each weight and of each optimizer state: "
        "model.load_weights(layer, shard, num_shards). Forward needs the whole weight. Who "
        "has the rest of it, and for how long is it needed?",
        "await model.all_gather(weights[layer], layer) puts the shards of all ranks together. "
        "Keep the result under another key, and delete it after the forward or backward that "
        "needed it. update works on a shard, if the gradient covers it.",
        "Before each forward and each backward: weights['whole'] = await "
        "model.all_gather(weights[layer], layer); after it: del weights['whole']. Reduce the "
        "gradients with all_reduce, as in PZ-3, and update the shards.",
    ),
)
run = _pz.run_of(TASK.function)
