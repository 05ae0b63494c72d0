"""PZ-P0: a wrong step."""

from helpers.grade.task import Program

FREE = "    del grad, grad_activations[-1]"
SUM = "await model.all_reduce(grad_weights[layer], layer)"

PROGRAMS = (
    Program(
        "the demo of the lab: adds the reduced gradient to the local one",
        {
            FREE: (
                "    for layer in range(model.num_layers):\n"
                f"        grad_weights[layer] += {SUM}\n{FREE}"
            ),
        },
        says="would count twice in the gradient of layer 0",
        met="the CS 8803 SMR lab's own demo, which fails with two micro-batches a rank",
    ),
)
