"""Wrong ways to do DP-1, each to be caught with words of its own; and right ways, to be passed."""

from helpers.grade import PlantedMistake

MISTAKES = (
    PlantedMistake(
        "a sum for a mean",
        """
        for p in model.parameters():
            if p.grad is not None:
                dist.all_reduce(p.grad)
        """,
        says="the sum over the ranks, 4 times too large",
    ),
    PlantedMistake(
        "never written back",
        """
        for p in model.parameters():
            if p.grad is None:
                continue
            averaged = p.grad.clone()
            dist.all_reduce(averaged)
            gradient = p.grad
            gradient = averaged / world_size
        """,
        says="never written back",
    ),
    PlantedMistake(
        "nothing at all",
        "pass",
        says="never written back",
    ),
    PlantedMistake(
        "divided before and after",
        """
        for p in model.parameters():
            if p.grad is not None:
                p.grad /= world_size
                dist.all_reduce(p.grad)
                p.grad /= world_size
        """,
        says="divided twice",
    ),
    PlantedMistake(
        "divided by a fixed 2",
        """
        for p in model.parameters():
            if p.grad is not None:
                dist.all_reduce(p.grad)
                p.grad /= 2
        """,
        says="divided by 2, where world_size is 4",
    ),
    PlantedMistake(
        "divided by the lesson's 3",
        """
        for p in model.parameters():
            if p.grad is not None:
                dist.all_reduce(p.grad)
                p.grad /= 3
        """,
        says="divided by 3, where world_size is 4",
    ),
    PlantedMistake(
        "only the first parameter",
        """
        for p in model.parameters():
            if p.grad is not None:
                dist.all_reduce(p.grad)
                p.grad /= world_size
            return
        """,
        says="only the first parameter",
    ),
    PlantedMistake(
        "stops at the first parameter without a gradient",
        """
        for p in model.parameters():
            if p.grad is None:
                break
            dist.all_reduce(p.grad)
            p.grad /= world_size
        """,
        says="stops at the first parameter whose p.grad is None",
    ),
    PlantedMistake(
        "does not expect a missing gradient",
        """
        for p in model.parameters():
            dist.all_reduce(p.grad)
            p.grad /= world_size
        """,
        says="has p.grad None",
    ),
    PlantedMistake(
        "the largest in place of the mean",
        """
        for p in model.parameters():
            if p.grad is not None:
                dist.all_reduce(p.grad, op=dist.ReduceOp.MAX)
        """,
        says="ReduceOp.MAX",
    ),
    PlantedMistake(
        "no communication",
        """
        for p in model.parameters():
            if p.grad is not None:
                p.grad /= world_size
        """,
        says="nothing was communicated",
    ),
    PlantedMistake(
        "reduce in place of all_reduce",
        """
        for p in model.parameters():
            if p.grad is not None:
                dist.reduce(p.grad, dst=0)
                p.grad /= world_size
        """,
        says="only rank 0 has the mean",
    ),
    PlantedMistake(
        "the weights in place of the gradients",
        """
        with torch.no_grad():
            for p in model.parameters():
                dist.all_reduce(p)
                p /= world_size
        """,
        says="the weights have changed",
    ),
    PlantedMistake(
        "thrown away",
        """
        for p in model.parameters():
            if p.grad is not None:
                dist.all_reduce(p.grad)
                p.grad = None
        """,
        says="is None, or is not there at all",
    ),
    PlantedMistake(
        "rounded on the way",
        """
        for p in model.parameters():
            if p.grad is not None:
                short = p.grad.float()
                dist.all_reduce(short)
                p.grad.copy_(short / world_size)
        """,
        says="float32's accuracy",
    ),
    PlantedMistake(
        "parts given to the wrong parameters",
        """
        gradients = [torch.zeros_like(p) if p.grad is None else p.grad for p in model.parameters()]
        flat = torch.cat([gradient.flatten() for gradient in reversed(gradients)])
        dist.all_reduce(flat)
        for p, gradient in zip(model.parameters(), gradients):
            p.grad, flat = flat[: p.numel()].view_as(p) / world_size, flat[p.numel() :]
        """,
        says="takes no part, and has a gradient now",
    ),
    PlantedMistake(
        "one rank alone communicates",
        """
        if dist.get_rank() == 0:
            for p in model.parameters():
                if p.grad is not None:
                    dist.all_reduce(p.grad)
                    p.grad /= world_size
        """,
        says="left early",
        alone=True,
    ),
)

ALSO_RIGHT = {
    "one message a parameter": """
        for p in model.parameters():
            if p.grad is not None:
                dist.all_reduce(p.grad)
                p.grad /= world_size
        """,
    "divided before": """
        for p in model.parameters():
            if p.grad is not None:
                p.grad /= world_size
                dist.all_reduce(p.grad)
        """,
    "torch's own mean": """
        for p in model.parameters():
            if p.grad is not None:
                dist.all_reduce(p.grad, op=dist.ReduceOp.AVG)
        """,
    "a new tensor as the gradient": """
        for p in model.parameters():
            if p.grad is not None:
                everybody = [torch.empty_like(p.grad) for _ in range(world_size)]
                dist.all_gather(everybody, p.grad)
                p.grad = torch.stack(everybody).mean(0)
        """,
    "zeros where there is no gradient": """
        gradients = [torch.zeros_like(p) if p.grad is None else p.grad for p in model.parameters()]
        flat = torch.cat([gradient.flatten() for gradient in gradients])
        dist.all_reduce(flat)
        for p in model.parameters():
            p.grad, flat = flat[: p.numel()].view_as(p) / world_size, flat[p.numel() :]
        """,
    "all at once, then wait": """
        gradients = [p.grad for p in model.parameters() if p.grad is not None]
        for message in [dist.all_reduce(gradient, async_op=True) for gradient in gradients]:
            message.wait()
        for gradient in gradients:
            gradient.div_(world_size)
        """,
}
