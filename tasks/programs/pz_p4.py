"""PZ-P4: a step that cheats."""

from helpers.grade.task import Program

PROGRAMS = (
    Program(
        "gradients that claim all samples",
        {
            "grad_weights.pop(layer)": (
                '__import__("lib").WeightGrad(layer, last + 1, range(samples), samples)'
            )
        },
        says="was built by hand, and nobody has computed it",
        met="submissions to that lab, one of them with 139,268 % MFU",
    ),
)
