"""PZ-P0: data parallel with gradient accumulation."""

from helpers.grade import Task
from tasks import _pz

TASK = Task(
    title="data parallel with gradient accumulation, reduced once",
    file="puzzles/part0.py",
    function="train_ddp",
    lesson="training_puzzles",
    page="puzzles/README.md",
    kind="prize",
    minutes=30,
    hints=(
        "Each rank takes its part of the batch in micro-batches: get_next_microbatch gives the "
        "lists of samples. What is added up on a rank, and what over the ranks? In which order?",
        "First add up the gradients of the rank's own micro-batches; then one all_reduce for each "
        "layer. If you add a reduced gradient that already contains some of the same samples, "
        "they count twice.",
        "Load all layers. for samples in get_next_microbatch(…): input, forward, loss, "
        "backward; grad_weights[layer] = grad_weights[layer] + grad, or grad the first time. "
        "After the loop: all_reduce, update and set_final_weight for each layer.",
    ),
)
observe = _pz.observing(TASK.function)
name = _pz.name
cases, enough = _pz.listed(
    {  # ranks, layers, samples, micro-batch: time and memory
        (8, 36, 32, 2): (0.0202, 2.7e9),
        (5, 4, 30, 4): (0.00277, 3.1e8),
        (1, 3, 6, 2): (0.00212, 2.4e8),
    }
)

explain = _pz.judge(
    enough,
    slow="reduce each layer once, after all micro-batches",
    large="keep the activations of one micro-batch at a time",
)
