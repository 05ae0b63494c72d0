"""PZ-4 as whole programs."""

from helpers.grade.task import Program
from tasks.programs import _pz

PROGRAMS = (
    Program(
        "the same shard on every rank",
        _pz.changed(
            "PZ-4",
            (
                "model.load_weights(layer, model.rank, model.world_size)",
                "model.load_weights(layer, 0, model.world_size)",
            ),
        ),
        says="it needs the whole weight, and got the weight of layer 0, shard 0 of 4",
    ),
)
