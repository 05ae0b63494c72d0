"""PF-5: wrong work."""

from helpers.grade.task import Program

PROGRAMS = (
    Program(
        "not shifted", {"source, before": "source, target"}, says="shift the target by one place"
    ),
)
