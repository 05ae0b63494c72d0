"""PZ-2 as whole programs."""

from helpers.grade.task import Program
from tasks.programs import _pz

PROGRAMS = (
    Program(
        "only the last sample",
        _pz.changed(
            "PZ-2",
            (
                "grad_weights[layer] + grad if sample > 0 else grad",
                "grad",
            ),
        ),
        says="samples 0 to 2 are missing in the gradient",
    ),
)
