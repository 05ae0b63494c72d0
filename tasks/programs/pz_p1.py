"""PZ-P1 as whole programs."""

from helpers.grade.task import Program
from tasks.programs import _pz

PROGRAMS = (
    Program(
        "whole gradients",
        _pz.changed(
            "PZ-P1",
            (
                "        grad = await model.reduce_scatter(grad, layer)\n",
                "",
            ),
            (
                "    weights[layer], opt_states[layer] = model.update(",
                "    grad_weights[layer] = await "
                "model.reduce_scatter(grad_weights[layer], layer)\n"
                "    weights[layer], opt_states[layer] = model.update(",
            ),
        ),
        says="are enough: keep one whole weight and one whole gradient at a time",
    ),
)
