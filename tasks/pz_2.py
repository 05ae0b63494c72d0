"""PZ-2: gradient accumulation."""

from helpers.grade import Task
from tasks import _pz

TASK = Task(
    title="one rank and one sample at a time, with one update",
    file="puzzles/eight.py",
    function="accumulation",
    lesson="training_puzzles",
    minutes=15,
    hints=(
        "To save memory, hold the activations of only one sample at a time. But the update needs "
        "the gradient of the whole batch. What can you add up?",
        "Put a loop over the samples around forward, loss and backward. Two weight gradients of "
        "one layer can be added with +, if no sample is in both. The updates come after the loop.",
        "for sample in range(model.global_batch_size): forward, loss and backward as before, "
        "with model.get_input_activation([sample]). Each gradient goes into grad_weights "
        "under a key of its own, then grad_weights[layer] = grad_weights[layer] + it (for "
        "sample 0: just it), and the key is removed. Then update every layer.",
    ),
)
observe = _pz.observing(TASK.function)
name = _pz.name
cases = _pz.cases((1, 2, 4), _pz.alone)


def enough(ranks, layers, samples):
    """As for PZ-1; weights, states and gradients, and the activations of one sample."""
    time = layers * (2 * samples + 0.5)
    return time, _pz.ELEMENTS * (3.5 * layers + 0.5)


explain = _pz.judge(
    enough,
    slow="a sample needs one forward and one backward a layer, and there is one update",
    large="take one sample at a time, and keep the sum of the gradients alone; "
    "grad_activations[-1], which backward of layer 0 returns, is needed by nobody",
)
