"""PZ-8 as whole programs."""

from helpers.grade.task import Program
from tasks.programs import _pz

PROGRAMS = (
    Program(
        "collectives of one's own layers alone",
        _pz.changed(
            "PZ-8",
            (
                "for layer in layers:\n    if layer == first and stage > 0:",
                "for layer in mine:\n    if layer == first and stage > 0:",
            ),
        ),
        says="none of them can go first",
    ),
)
