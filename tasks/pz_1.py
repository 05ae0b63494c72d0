"""PZ-1: one rank, the whole batch at once."""

from helpers.grade import Task
from tasks import _pz

TASK = Task(
    title="one rank and the whole batch: forward, loss, backward, update",
    file="puzzles/eight.py",
    function="basic",
    lesson="training_puzzles",
    minutes=15,
    hints=(
        "A step has four parts, in this order: forward through all layers, loss, backward "
        "through all layers in reverse, update of each layer. Which values does each call "
        "need, and which does it return?",
        "activations[layer] is the input of layer `layer`, so forward fills activations[layer + "
        "1]. loss takes the activation after the last layer and gives grad_activations[last]. "
        "backward of a layer returns two things: its weight gradient, and grad_activations[layer - "
        "1]. When are the inputs of a backward needed for the last time?",
        "Load all layers; activations[0] = "
        "model.get_input_activation(range(model.global_batch_size)); a loop of forward; loss, "
        "then del activations[last + 1]; a reversed loop of backward, each followed by del "
        "activations[layer], grad_activations[layer]; a loop of update and set_final_weight.",
    ),
)
observe = _pz.observing(TASK.function)
name = _pz.name
cases = _pz.cases((1, 2, 4), _pz.alone)


def enough(ranks, layers, samples):
    """All forwards and backwards, and an update for each layer; activations at their most."""
    time = layers * (2 * samples + 0.5)
    return time, _pz.ELEMENTS * (2 * layers + (layers + 1) * samples / 2)


explain = _pz.judge(
    enough,
    slow="every layer goes forward once and backward once, and is updated once",
    large="delete each activation and gradient after the backward that needs it last, and "
    "grad_activations[-1], which nobody needs",
)
