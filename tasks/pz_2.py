"""PZ-2: gradient accumulation."""

from helpers.grade import Task
from tasks import _pz

TASK = Task(
    id="PZ-2",
    title="one rank and one sample at a time, with one update",
    file="puzzles/eight.py",
    function="accumulation",
    notebook="16",
    points=5,
    minutes=15,
    hints=(
        "To save memory, hold the activations of only one sample at a time. But the update needs "
        "the gradient of the whole batch. What can you add up?",
        "Put a loop over the samples around forward, loss and backward. Two weight gradients "
        "of one layer can be added with +, if no sample is in both. The updates come after "
        "the loop.",
        "for sample in range(model.global_batch_size): forward, loss and backward as before, "
        "with model.get_input_activation([sample]). Each gradient goes into grad_weights "
        "under a key of its own, then grad_weights[layer] = grad_weights[layer] + it (for "
        "sample 0: just it), and the key is removed. Then update every layer.",
    ),
)
run = _pz.run_of(TASK.function)
