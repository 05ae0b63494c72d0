"""PZ-P3: a step that takes too much memory."""

from helpers.grade.task import Program

PROGRAMS = (
    Program(
        "GPipe",
        {"min(stages - rank - 1, len(batches))": "len(batches)"},
        says="are enough: after the warm-up each forward is followed by a backward",
    ),
)
