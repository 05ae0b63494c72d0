"""PZ-8: a wrong step."""

from helpers.grade.task import Program

RECEIVES = ":\n    if layer == first and stage > 0:"

PROGRAMS = (
    Program(
        "collectives of one's own layers alone",
        {f"layers{RECEIVES}": f"mine{RECEIVES}"},
        says="none of them can go first",
    ),
)
