"""Programs for DP-PP-1: wrong ones, most of which train without a sign of it, and right ones."""

from helpers.grade.task import Program

PROGRAMS = (
    Program(
        "over the world",
        """
        for p in stage.parameters():
            dist.all_reduce(p.grad)
            p.grad /= dist.get_world_size()
        """,
        says="the average goes over all 4 ranks, and mixes gradients of different stages",
    ),
    Program(
        "divided by the number of all ranks",
        """
        for p in stage.parameters():
            dist.all_reduce(p.grad, group=group)
            p.grad /= dist.get_world_size()
        """,
        says="the sum over the group is divided by 4: divide once",
    ),
    Program(
        "a sum for a mean",
        """
        for p in stage.parameters():
            dist.all_reduce(p.grad, group=group)
        """,
        says="the sum over the ranks of the group",
    ),
    Program(
        "never written back",
        """
        for p in stage.parameters():
            gradient = p.grad.clone()
            dist.all_reduce(gradient, group=group)
            gradient /= dist.get_world_size(group)
        """,
        says="never written back into p.grad",
    ),
    Program(
        "only in one pipeline",
        """
        for p in stage.parameters():
            mean = p.grad.clone()
            dist.all_reduce(mean, group=group, op=dist.ReduceOp.AVG)
            if dist.get_rank(group) == 0:
                p.grad.copy_(mean)
        """,
        says="only ranks 0 and 1 have the mean of the stage, and ranks 2 and 3 have not",
    ),
    Program(
        "only for the first stage",
        """
        for p in stage.parameters():
            if dist.get_rank() % 2 == 0:
                dist.all_reduce(p.grad, group=group, op=dist.ReduceOp.AVG)
        """,
        says="not every rank of a group",
        alone=True,
    ),
    Program(
        "one rank alone communicates",
        """
        if dist.get_rank() == 0:
            for p in stage.parameters():
                dist.all_reduce(p.grad, group=group, op=dist.ReduceOp.AVG)
        """,
        says="rank 0",
        alone=True,
    ),
)

RIGHT = {
    "divided before": """
        for p in stage.parameters():
            p.grad /= group.size()
            dist.all_reduce(p.grad, group=group)
        """,
    "gathered, and a new tensor as the gradient": """
        for p in stage.parameters():
            everybody = [torch.empty_like(p.grad) for _ in range(dist.get_world_size(group))]
            dist.all_gather(everybody, p.grad, group=group)
            p.grad = torch.stack(everybody).mean(0)
        """,
    "all at once, then wait": """
        gradients = [p.grad for p in stage.parameters()]
        for message in [dist.all_reduce(g, group=group, async_op=True) for g in gradients]:
            message.wait()
        for gradient in gradients:
            gradient.div_(dist.get_world_size(group))
        """,
}
