"""PZ-P1: a step that takes too much memory."""

from helpers.grade.task import Program

UPDATE = "    weights[layer], opt_states[layer] = model.update("
SUM = "await model.reduce_scatter(grad_weights[layer], layer)"

PROGRAMS = (
    Program(
        "whole gradients",
        {
            "        grad = await model.reduce_scatter(grad, layer)\n": "",
            UPDATE: f"    grad_weights[layer] = {SUM}\n{UPDATE}",
        },
        says="are enough: keep one whole weight and one whole gradient at a time",
    ),
)
