"""PZ-3: data parallel."""

from helpers.grade import Task
from tasks import _pz

TASK = Task(
    id="PZ-3",
    title="each rank takes one sample; sum the gradients over the ranks",
    file="puzzles/eight.py",
    function="ddp",
    notebook="16",
    points=10,
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
run = _pz.run_of(TASK.function)
