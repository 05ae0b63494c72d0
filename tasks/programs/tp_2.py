"""TP-2: wrong work."""

from helpers.grade.task import Program

PROGRAMS = (
    Program(
        "data-parallel major",
        {"rank % mp_size, rank // mp_size": "rank // dp_size, rank % dp_size"},
        says="as if the ranks of one copy stood dp_size apart",
    ),
)
