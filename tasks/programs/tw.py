"""Work in place of the solutions of TW: what the check must name, and what it must pass."""

from helpers.grade.task import Program

OPTIMIZER = "optimizer = make_optimizer(options, stage)\n"

PROGRAMS = (
    Program(
        "TW-1",
        "the optimizer before fully_shard",
        {OPTIMIZER: "", "for module in [m for": f"{OPTIMIZER}for module in [m for"},
        says="was made before fully_shard",
    ),
    Program(
        "TW-1",
        "never zeroed",
        {"optimizer.zero_grad()": "pass"},
        says="a part of the last step's gradients is still there",
    ),
    Program(
        "TW-1",
        "a pipeline over all ranks",
        {', group=mesh["pp"].get_group()': ""},
        says="the pipeline goes over all ranks",
    ),
)
