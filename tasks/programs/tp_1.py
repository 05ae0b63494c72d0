"""TP-1: wrong work."""

from helpers.grade.task import Program

PROGRAMS = (
    Program(
        "data-parallel major",
        {"rank // mp_size": "rank % dp_size"},
        says="the copy of a rank is rank // mp_size",
    ),
)
