"""PZ-P2 as whole programs."""

from helpers.grade.task import Program
from tasks.programs import _pz

PROGRAMS = (
    Program(
        "the last rank is always the last stage",
        _pz.changed(
            "PZ-P2",
            (
                "if after == model.num_layers:",
                "if rank == model.world_size - 1:",
            ),
        ),
        says="waits for rank 2",
    ),
)
