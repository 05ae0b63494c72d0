"""PZ-3: data parallel."""

from helpers.grade import Task
from tasks import _pz

TASK = Task(
    title="each rank takes one sample; sum the gradients over the ranks",
    file="puzzles/eight.py",
    function="ddp",
    lesson="training_puzzles",
    kind="prize",
    minutes=20,
    hints=(
        "Each rank has all weights and does what one rank did, for its own sample. What do "
        "the ranks have to tell each other before the update?",
        "await model.all_reduce(gradient, layer) gives every rank the sum of the gradients of "
        "all ranks. All ranks must call it, for the same layers in the same order.",
        "As in PZ-1 with model.get_input_activation([model.rank]). After the backward of a "
        "layer: grad_weights[layer] = await model.all_reduce(grad_weights[layer], layer). "
        "Then update every layer.",
    ),
)
observe = _pz.observing(TASK.function)
name = _pz.name
cases = _pz.cases((4, 2, 4), _pz.one_sample_each)


def enough(ranks, layers, samples):
    """Two passes, a reduce and an update for each layer, whatever the ranks."""
    return 2.8 * layers, _pz.ELEMENTS * (3 * layers + 1)


passed = _pz.star(enough)
explain = _pz.judge(
    enough,
    slow="each rank takes its own sample alone, and each layer is reduced once",
    large="delete each activation and gradient after the backward that needs it last",
)
