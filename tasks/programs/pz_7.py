"""PZ-7: a wrong step."""

from helpers.grade.task import Program

PROGRAMS = (
    Program(
        "samples back in two orders",
        {"after, sample])\n        del activations[after, sample]": "after, 3 - sample])"},
        says="the activation is for sample 0, and the gradient for sample 3: they must be the same",
    ),
)
