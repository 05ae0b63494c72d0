"""Wrong ways to do DP-2, each to be caught with words of its own; and right ways, to be passed."""

from helpers.grade import PlantedMistake

MISTAKES = (
    PlantedMistake(
        "assigned to the loop variable",
        """
        for p in model.parameters():
            mean = p.detach().clone()
            dist.all_reduce(mean)
            p = mean / world_size
        """,
        says="never written back",
    ),
    PlantedMistake(
        "nothing at all",
        "pass",
        says="never written back",
    ),
    PlantedMistake(
        "written into a copy",
        """
        state = {name: value.clone() for name, value in model.state_dict().items()}
        for value in state.values():
            dist.all_reduce(value)
            value /= world_size
        """,
        says="never written back",
    ),
    PlantedMistake(
        "a sum for a mean",
        """
        for p in model.parameters():
            dist.all_reduce(p.data)
        """,
        says="the sum over the ranks, 4 times too large",
    ),
    PlantedMistake(
        "divided before and after",
        """
        for p in model.parameters():
            p.data /= world_size
            dist.all_reduce(p.data)
            p.data /= world_size
        """,
        says="divided twice",
    ),
    PlantedMistake(
        "divided by the lesson's 3",
        """
        for p in model.parameters():
            dist.all_reduce(p.data)
            p.data /= 3
        """,
        says="divided by 3, where world_size is 4",
    ),
    PlantedMistake(
        "no communication",
        """
        for p in model.parameters():
            p.data /= world_size
        """,
        says="nothing was communicated",
    ),
    PlantedMistake(
        "only the first parameter",
        """
        for p in model.parameters():
            dist.all_reduce(p.data)
            p.data /= world_size
            return
        """,
        says="only the first parameter",
    ),
    PlantedMistake(
        "skips what has no gradient",
        """
        for p in model.parameters():
            if p.grad is not None:
                dist.all_reduce(p.data)
                p.data /= world_size
        """,
        says="'spare' has no gradient in this step, and was left out",
    ),
    PlantedMistake(
        "the gradients in place of the weights",
        """
        for p in model.parameters():
            if p.grad is not None:
                dist.all_reduce(p.grad)
                p.grad /= world_size
        """,
        says="the gradients have changed",
    ),
    PlantedMistake(
        "the gradients thrown away",
        """
        for p in model.parameters():
            dist.all_reduce(p.data)
            p.data /= world_size
            p.grad = None
        """,
        says="the gradients have changed",
    ),
    PlantedMistake(
        "new parameters",
        """
        for name, p in list(model.named_parameters()):
            mean = p.detach().clone()
            dist.all_reduce(mean)
            new = torch.nn.Parameter(mean / world_size, requires_grad=p.requires_grad)
            new.grad = p.grad
            setattr(model, name, new)
        """,
        says="'embedding' was replaced by a new one",
    ),
    PlantedMistake(
        "rank 0 tells all",
        """
        for p in model.parameters():
            dist.broadcast(p.data, src=0)
        """,
        says="every rank has the weights of rank 0",
    ),
    PlantedMistake(
        "reduce in place of all_reduce",
        """
        for p in model.parameters():
            mine = p.detach().clone()
            dist.reduce(mine, dst=0)
            if dist.get_rank() == 0:
                p.data.copy_(mine / world_size)
        """,
        says="only rank 0 has the mean",
    ),
    PlantedMistake(
        "the largest in place of the mean",
        """
        for p in model.parameters():
            dist.all_reduce(p.data, op=dist.ReduceOp.MAX)
        """,
        says="ReduceOp.MAX",
    ),
    PlantedMistake(
        "rounded on the way",
        """
        for p in model.parameters():
            short = p.detach().float()
            dist.all_reduce(short)
            p.data.copy_(short / world_size)
        """,
        says="float32's accuracy",
    ),
    PlantedMistake(
        "parts given to the wrong parameters",
        """
        flat = torch.cat([p.detach().flatten() for p in reversed(list(model.parameters()))])
        dist.all_reduce(flat)
        for p in model.parameters():
            part, flat = flat[: p.numel()], flat[p.numel() :]
            p.data.copy_(part.view_as(p) / world_size)
        """,
        says="stand in the wrong parameters",
    ),
    PlantedMistake(
        "the frozen parameter summed",
        """
        for p in model.parameters():
            dist.all_reduce(p.data)
            if p.requires_grad:
                p.data /= world_size
        """,
        says="'frozen' is the same on all ranks",
    ),
    PlantedMistake(
        "while torch records gradients",
        """
        for p in model.parameters():
            mean = p.detach().clone()
            dist.all_reduce(mean)
            p.copy_(mean / world_size)
        """,
        says="write under torch.no_grad()",
    ),
    PlantedMistake(
        "one rank alone communicates",
        """
        if dist.get_rank() == 0:
            for p in model.parameters():
                dist.all_reduce(p.data)
                p.data /= world_size
        """,
        says="left early",
        alone=True,
    ),
)

ALSO_RIGHT = {
    "one message a parameter": """
        with torch.no_grad():
            for p in model.parameters():
                dist.all_reduce(p)
                p /= world_size
        """,
    "divided before": """
        for p in model.parameters():
            p.data /= world_size
            dist.all_reduce(p.data)
        """,
    "torch's own mean": """
        for p in model.parameters():
            dist.all_reduce(p.data, op=dist.ReduceOp.AVG)
        """,
    "the frozen one left alone": """
        for p in model.parameters():
            if p.requires_grad:
                dist.all_reduce(p.data)
                p.data /= world_size
        """,
    "other memory, the same parameter": """
        for p in model.parameters():
            everybody = [torch.empty_like(p.data) for _ in range(world_size)]
            dist.all_gather(everybody, p.data)
            p.data = torch.stack(everybody).mean(0)
        """,
    "through the state": """
        for value in model.state_dict().values():
            dist.all_reduce(value)
            value /= world_size
        """,
    "torch's own flat vector": """
        from torch.nn.utils import parameters_to_vector, vector_to_parameters

        flat = parameters_to_vector(model.parameters()).detach()
        dist.all_reduce(flat)
        vector_to_parameters(flat / world_size, model.parameters())
        """,
    "all at once, then wait": """
        weights = [p.data for p in model.parameters()]
        for message in [dist.all_reduce(weight, async_op=True) for weight in weights]:
            message.wait()
        for weight in weights:
            weight.div_(world_size)
        """,
}
