"""Wrong ways to do DP-PP-1, each to be caught with words of its own; and right ways."""

from helpers.grade import PlantedMistake

MISTAKES = (
    PlantedMistake(
        "over the world",
        """
        for p in stage.parameters():
            dist.all_reduce(p.grad)
            p.grad /= dist.get_world_size()
        """,
        says="the average goes over all 4 ranks, and mixes gradients of different stages",
    ),
    PlantedMistake(
        "summed over the world, divided by the group",
        """
        for p in stage.parameters():
            dist.all_reduce(p.grad)
            p.grad /= dist.get_world_size(group)
        """,
        says="the sum goes over all 4 ranks, and mixes gradients of different stages",
    ),
    PlantedMistake(
        "a sum over the world",
        """
        for p in stage.parameters():
            dist.all_reduce(p.grad)
        """,
        says="the sum goes over all 4 ranks, and is not divided",
    ),
    PlantedMistake(
        "divided by the number of all ranks",
        """
        for p in stage.parameters():
            dist.all_reduce(p.grad, group=group)
            p.grad /= dist.get_world_size()
        """,
        says="the sum over the group of 2 is divided by 4: divide once",
    ),
    PlantedMistake(
        "divided by the lesson's 2",
        """
        for p in stage.parameters():
            dist.all_reduce(p.grad, group=group)
            p.grad /= 2
        """,
        says="the sum over the group of 4 is divided by 2",
    ),
    PlantedMistake(
        "a sum for a mean",
        """
        for p in stage.parameters():
            dist.all_reduce(p.grad, group=group)
        """,
        says="the sum over the 2 ranks of the group",
    ),
    PlantedMistake(
        "divided twice",
        """
        for p in stage.parameters():
            p.grad /= dist.get_world_size(group)
            dist.all_reduce(p.grad, group=group, op=dist.ReduceOp.AVG)
        """,
        says="divide once, by dist.get_world_size(group)",
    ),
    PlantedMistake(
        "nothing communicated",
        """
        for p in stage.parameters():
            p.grad /= dist.get_world_size(group)
        """,
        says="nothing was communicated",
    ),
    PlantedMistake(
        "never written back",
        """
        for p in stage.parameters():
            gradient = p.grad.clone()
            dist.all_reduce(gradient, group=group)
            gradient /= dist.get_world_size(group)
        """,
        says="never written back into p.grad",
    ),
    PlantedMistake(
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
    PlantedMistake(
        "only for the first stage",
        """
        for p in stage.parameters():
            if dist.get_rank() % 2 == 0:
                dist.all_reduce(p.grad, group=group, op=dist.ReduceOp.AVG)
        """,
        says="ranks 1 and 3 left early",
        alone=True,
    ),
    PlantedMistake(
        "the weights in place of the gradients",
        """
        for p in stage.parameters():
            dist.all_reduce(p.data, group=group, op=dist.ReduceOp.AVG)
        """,
        says="the weights have changed",
    ),
    PlantedMistake(
        "only the first parameter",
        """
        for p in stage.parameters():
            dist.all_reduce(p.grad, group=group, op=dist.ReduceOp.AVG)
            return
        """,
        says="only the first parameter was averaged",
    ),
    PlantedMistake(
        "rounded on the way",
        """
        for p in stage.parameters():
            short = p.grad.float()
            dist.all_reduce(short, group=group)
            p.grad.copy_(short / dist.get_world_size(group))
        """,
        says="float32's accuracy",
    ),
    PlantedMistake(
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

ALSO_RIGHT = {
    "one message a parameter": """
        for p in stage.parameters():
            dist.all_reduce(p.grad, group=group)
            p.grad /= dist.get_world_size(group)
        """,
    "torch's own mean": """
        for p in stage.parameters():
            dist.all_reduce(p.grad, op=dist.ReduceOp.AVG, group=group)
        """,
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
