"""PZ-6: a wrong step."""

from helpers.grade.task import Program

LOAD = ":\n    weights[layer], opt_states"

PROGRAMS = (
    Program(
        "loads everything",
        {f"mine{LOAD}": f"range(model.num_layers){LOAD}"},
        says="its copy is stale",
    ),
)
