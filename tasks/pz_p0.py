"""PZ-P0: data parallel with gradient accumulation."""

from pathlib import Path

from helpers.grade import Submission, Task
from helpers.grade.task import load_module

pz = load_module(Path(__file__).with_name("_pz.py"), "lab_task_pz")

TASK = Task(
    id="PZ-P0",
    title="data parallel with gradient accumulation, reduced once",
    file="puzzles/part0.py",
    function="train_ddp",
    notebook="09",
    points=10,
    minutes=30,
    hints=(
        "Each rank takes its part of the batch in micro-batches: get_next_microbatch gives "
        "the lists of samples. What is added up on a rank, and what over the ranks? In which "
        "order?",
        "First add up the gradients of the rank's own micro-batches; then one all_reduce for "
        "each layer. If you add a reduced gradient to one that was in it already, samples "
        "count twice.",
        "Load all layers. for samples in get_next_microbatch(…): input, forward, loss, "
        "backward; grad_weights[layer] = grad_weights[layer] + grad, or grad the first time. "
        "After the loop: all_reduce, update and set_final_weight for each layer.",
    ),
)

CASES = (
    pz.Case(8, 36, 32, (2,), profile="classic", time=0.0202, memory=2.7e9),
    pz.Case(5, 4, 30, (4,), profile="classic", time=0.00277, memory=3.1e8),
    pz.Case(1, 3, 6, (2,), profile="classic", time=0.00212, memory=2.4e8),
)


def verify(submission: Submission) -> None:
    """Play what the step did again, and compare time and memory. Raises Mistake or WorkFailed."""
    pz.verify_cases(
        submission,
        TASK.function,
        CASES,
        slow="reduce each layer once, after all micro-batches",
        large="keep the activations of one micro-batch at a time",
    )
