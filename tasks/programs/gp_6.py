"""GP-6: wrong work."""

from helpers.grade.task import Program

PROGRAMS = (
    Program(
        "the other way round",
        {"join(batches)": "join(batches[::-1])"},
        says="in the order they came in",
    ),
)
