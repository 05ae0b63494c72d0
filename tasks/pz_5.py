"""PZ-5: fully sharded data parallel."""

from helpers.grade import Task
from tasks import _pz

TASK = Task(
    title="shard the gradients too",
    file="puzzles/eight.py",
    function="fully_sharded",
    lesson="training_puzzles",
    kind="prize",
    minutes=15,
    hints=(
        "In PZ-4 each rank ends up with the whole gradient of every layer, but updates only "
        "one shard. What part of the summed gradient does it need?",
        "await model.reduce_scatter(gradient, layer) sums over the ranks and gives rank r shard r "
        "of the sum. When should it be called, so that a rank holds few whole gradients at a time?",
        "As PZ-4, but right after the backward of a layer: grad_weights[layer] = await "
        "model.reduce_scatter(grad_weights[layer], layer).",
    ),
)
observe = _pz.observing(TASK.function)
name = _pz.name
cases = _pz.cases((4, 6, 4), _pz.one_sample_each)


def enough(ranks, layers, samples):
    """As for PZ-4; one whole weight and one whole gradient."""
    return 3.4 * layers, _pz.ELEMENTS * (2 * layers / ranks + layers / 2 + 3)


passed = _pz.star(enough)
explain = _pz.judge(
    enough,
    slow="a layer is gathered twice and reduced once",
    large="cut the gradient of a layer into shards right after its backward",
)
