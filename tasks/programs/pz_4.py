"""PZ-4: a wrong step."""

from helpers.grade.task import Program

PROGRAMS = (
    Program(
        "the same shard on every rank",
        {"layer, model.rank, model.world_size": "layer, 0, model.world_size"},
        says="it needs the whole weight, and got the weight of layer 0, shard 0 of 4",
    ),
)
