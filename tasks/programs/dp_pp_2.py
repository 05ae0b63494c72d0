"""DP-PP-2: wrong work."""

from helpers.grade.task import Program

PROGRAMS = (
    Program(
        "the stories divided among all ranks",
        {"here.dp, grid.dp,": "place.rank, place.world_size,"},
        says="the stories are divided among all ranks",
    ),
    Program(
        "averages along the row",
        {"(stage, groups.dp)": "(stage, groups.pp)"},
        says="the ranks of one row average with each other",
    ),
)
