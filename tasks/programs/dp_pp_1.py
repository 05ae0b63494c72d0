"""DP-PP-1: wrong work, most of which trains without a sign of it, and right work."""

from helpers.grade.task import Program

PROGRAMS = (
    Program(
        "over the world",
        {", group=group": "", "get_world_size(group)": "get_world_size()"},
        says="the average goes over all 4 ranks, and mixes gradients of different stages",
    ),
    Program(
        "only in one pipeline",
        {"    gradient.copy_": "    dist.get_rank(group) or gradient.copy_"},
        says="only ranks 0 and 1 have the mean of the stage, and ranks 2 and 3 have not",
    ),
    Program(
        "only for the first stage",
        {"dist.all_reduce": "dist.get_rank() % 2 or dist.all_reduce"},
        says="not every rank of a group",
    ),
    Program(
        "one rank alone communicates",
        {"dist.all_reduce": "dist.get_rank() or dist.all_reduce"},
        says="rank 0",
    ),
)

RIGHT = {
    "gathered, and a new tensor as the gradient": """
        for p in stage.parameters():
            everybody = [torch.empty_like(p.grad) for _ in range(dist.get_world_size(group))]
            dist.all_gather(everybody, p.grad, group=group)
            p.grad = torch.stack(everybody).mean(0)
        """,
}
