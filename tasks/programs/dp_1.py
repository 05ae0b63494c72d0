"""Programs for DP-1: wrong ones, most of which train without a sign of it, and right ones."""

from helpers.grade.task import Program

PROGRAMS = (
    Program(
        "a sum for a mean",
        """
        for p in model.parameters():
            if p.grad is not None:
                dist.all_reduce(p.grad)
        """,
        says="the sum over the ranks, 4 times too large",
    ),
    Program(
        "no communication",
        """
        for p in model.parameters():
            if p.grad is not None:
                p.grad /= world_size
        """,
        says="nothing was communicated",
    ),
    Program(
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
    Program(
        "reduce in place of all_reduce",
        """
        for p in model.parameters():
            if p.grad is not None:
                dist.reduce(p.grad, dst=0)
                p.grad /= world_size
        """,
        says="only rank 0 has the mean",
    ),
    Program(
        "the weights in place of the gradients",
        """
        with torch.no_grad():
            for p in model.parameters():
                dist.all_reduce(p)
                p /= world_size
        """,
        says="the weights have changed",
    ),
    Program(
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
    Program(
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

RIGHT = {
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
}
