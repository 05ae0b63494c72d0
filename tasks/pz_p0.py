"""PZ-P0: data parallel with gradient accumulation."""

from helpers.grade import Task
from tasks import _pz

TASK = Task(
    id="PZ-P0",
    title="data parallel with gradient accumulation, reduced once",
    file="puzzles/part0.py",
    function="train_ddp",
    notebook="16",
    points=10,
    minutes=30,
    hints=(
        "Each rank takes its part of the batch in micro-batches: get_next_microbatch gives "
        "the lists of samples. What is added up on a rank, and what over the ranks? In which "
        "order?",
        "First add up the gradients of the rank's own micro-batches; then one all_reduce for each "
        "layer. If you add a reduced gradient that already contains some of the same samples, "
        "they count twice.",
        "Load all layers. for samples in get_next_microbatch(…): input, forward, loss, "
        "backward; grad_weights[layer] = grad_weights[layer] + grad, or grad the first time. "
        "After the loop: all_reduce, update and set_final_weight for each layer.",
    ),
)
run = _pz.run_of(TASK.function)
