"""PZ-3: a wrong step."""

from helpers.grade.task import Program

PROGRAMS = (
    Program(
        "only rank 0 updates",
        {"    new, _": "    if model.rank:\n        return model\n    new, _"},
        says="its copy is stale, and would spoil the next step",
    ),
)
