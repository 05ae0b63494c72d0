"""PZ-6 as whole programs."""

from helpers.grade.task import Program
from tasks.programs import _pz

PROGRAMS = (
    Program(
        "loads everything",
        _pz.changed(
            "PZ-6",
            (
                "for layer in mine:\n    weights[layer]",
                "for layer in range(model.num_layers):\n    weights[layer]",
            ),
        ),
        says="its copy is stale",
    ),
)
