"""LA-1: wrong work."""

from helpers.grade.task import Program

PROGRAMS = (
    Program(
        "local rank 0 for all",
        {"get(local_name, rank)": "get(local_name, 0)"},
        says="no local rank",
    ),
    Program(
        "RANK is believed whatever the others say",
        {"says != [rank, world_size]": "False"},
        says="four lonely trainings",
    ),
)
