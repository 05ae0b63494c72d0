"""Work in place of the solutions of DP-PP: what the check must name, and what it must pass."""

from helpers.grade.task import Program

PROGRAMS = (
    Program(
        "DP-PP-1",
        "over the world",
        {", group=group": "", "get_world_size(group)": "get_world_size()"},
        says="the average goes over all 4 ranks, and mixes gradients of different stages",
    ),
    Program(
        "DP-PP-1",
        "only in one pipeline",
        {"    gradient.copy_": "    dist.get_rank(group) or gradient.copy_"},
        says="only ranks 0 and 1 have the mean of the stage, and ranks 2 and 3 have not",
    ),
    Program(
        "DP-PP-1",
        "only for the first stage",
        {"dist.all_reduce": "dist.get_rank() % 2 or dist.all_reduce"},
        says="not every rank of a group",
    ),
    Program(
        "DP-PP-1",
        "one rank alone communicates",
        {"dist.all_reduce": "dist.get_rank() or dist.all_reduce"},
        says="rank 0",
    ),
    Program(
        "DP-PP-1",
        "gathered, and a new tensor as the gradient",
        """
        for p in stage.parameters():
            everybody = [torch.empty_like(p.grad) for _ in range(dist.get_world_size(group))]
            dist.all_gather(everybody, p.grad, group=group)
            p.grad = torch.stack(everybody).mean(0)
        """,
    ),
    Program(
        "DP-PP-2",
        "the stories divided among all ranks",
        {"here.dp, grid.dp,": "place.rank, place.world_size,"},
        says="the stories are divided among all ranks",
    ),
    Program(
        "DP-PP-2",
        "averages along the row",
        {"(stage, groups.dp)": "(stage, groups.pp)"},
        says="the ranks of one row average with each other",
    ),
)
