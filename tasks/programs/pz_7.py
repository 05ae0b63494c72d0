"""PZ-7 as whole programs."""

from helpers.grade.task import Program
from tasks.programs import _pz

PROGRAMS = (
    Program(
        "samples back in two orders",
        _pz.changed(
            "PZ-7",
            ("after, sample])\n        del activations[after, sample]", "after, 3 - sample])"),
        ),
        says="the activation is for sample 0, and the gradient for sample 3: they must be the same",
    ),
)
