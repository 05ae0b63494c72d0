"""PZ-P0 as whole programs."""

from helpers.grade.task import Program
from tasks.programs import _pz

PROGRAMS = (
    Program(
        "the demo of the lab: adds the reduced gradient to the local one",
        _pz.changed(
            "PZ-P0",
            (
                "        grad_weights[layer] = grad_weights[layer] + grad if layer "
                "in grad_weights else grad\n"
                "    del grad, grad_activations[-1]",
                "        grad_weights[layer] = grad_weights[layer] + grad if layer "
                "in grad_weights else grad\n"
                "    for layer in range(model.num_layers):\n"
                "        grad_weights[layer] += await "
                "model.all_reduce(grad_weights[layer], layer)\n"
                "    del grad, grad_activations[-1]",
            ),
        ),
        says="would count twice in the gradient of layer 0",
        met="the CS 8803 SMR lab's own demo, which fails with two micro-batches a rank",
    ),
)
