"""EP-3: wrong work."""

from helpers.grade.task import Program

PROGRAMS = (
    Program(
        "upside down",
        {"counts.mean() - counts": "counts - counts.mean()"},
        says="the bias moves the wrong way",
    ),
)
