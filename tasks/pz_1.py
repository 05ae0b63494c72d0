"""PZ-1: one rank, the whole batch at once."""

from pathlib import Path

from helpers.grade import Submission, Task
from helpers.grade.task import load_module

pz = load_module(Path(__file__).with_name("_pz.py"), "lab_task_pz")

TASK = Task(
    id="PZ-1",
    title="one rank and the whole batch: forward, loss, backward, update",
    file="puzzles/eight.py",
    function="basic",
    notebook="09",
    points=5,
    minutes=15,
    hints=(
        "A step has four parts, in this order: forward through all layers, loss, backward "
        "through all layers in reverse, update of each layer. Which values does each call "
        "need, and which does it give back?",
        "activations[layer] is the input of layer `layer`, so forward fills activations[layer "
        "+ 1]. loss takes the activation after the last layer and gives "
        "grad_activations[last]. backward of a layer gives two things: its weight gradient, "
        "and grad_activations[layer - 1]. When are the inputs of a backward needed for the "
        "last time?",
        "Load all layers; activations[0] = "
        "model.get_input_activation(range(model.global_batch_size)); a loop of forward; loss, "
        "then del activations[last + 1]; a reversed loop of backward, each followed by del "
        "activations[layer], grad_activations[layer]; a loop of update and set_final_weight.",
    ),
)

CASES = (
    pz.Case(1, 2, 4, time=17, memory=2_621_440),
    pz.Case(1, 5, 3, time=32.5, memory=4_980_736),
)


def verify(submission: Submission) -> None:
    """Play what the step did again, and compare time and memory. Raises Mistake or WorkFailed."""
    pz.verify_cases(
        submission,
        TASK.function,
        CASES,
        slow="every layer goes forward once and backward once, and is updated once",
        large="delete each activation and gradient after the backward that needs it last",
    )
