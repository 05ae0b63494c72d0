"""PZ-2: a wrong step."""

from helpers.grade.task import Program

PROGRAMS = (
    Program(
        "only the last sample",
        {"grad_weights[layer] + grad if sample > 0 else grad": "grad"},
        says="samples 0 to 2 are missing in the gradient",
    ),
)
