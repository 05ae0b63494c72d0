"""PZ-P2: a wrong step."""

from helpers.grade.task import Program

PROGRAMS = (
    Program(
        "the last rank is always the last stage",
        {"after == model.num_layers": "rank == model.world_size - 1"},
        says="waits for rank 2",
    ),
)
