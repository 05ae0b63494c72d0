"""PZ-4: data parallel with sharded weights."""

from helpers.grade import Task
from tasks import _pz

TASK = Task(
    title="keep a shard of each weight, and gather layers when they are needed",
    file="puzzles/eight.py",
    function="weight_sharded",
    lesson="training_puzzles",
    kind="prize",
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
observe = _pz.observing(TASK.function)
name = _pz.name
cases = _pz.cases((4, 6, 4), _pz.one_sample_each)


def enough(ranks, layers, samples):
    """Two gathers for each layer more; a shard of weights and states, and whole gradients."""
    return 3.4 * layers, _pz.ELEMENTS * (2 * layers / ranks + layers + 1.5)


passed = _pz.star(enough)
explain = _pz.judge(
    enough,
    slow="a layer is gathered twice and reduced once",
    large="keep one whole weight at a time",
)
