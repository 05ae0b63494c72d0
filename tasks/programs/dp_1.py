"""DP-1: wrong work, most of which trains without a sign of it, and right work."""

from helpers.grade.task import Program

PROGRAMS = (
    Program(
        "a sum for a mean",
        {"flat /= world_size": "pass"},
        says="the sum over the ranks, 4 times too large",
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
        {"all_reduce(flat": "reduce(flat, dst=0"},
        says="only rank 0 has the mean",
    ),
    Program(
        "the weights in place of the gradients",
        {"p.grad for p": "p.data for p"},
        says="the weights have changed",
    ),
    Program(
        "rounded on the way",
        {"gradient.flatten()": "gradient.flatten().float()"},
        says="float32's accuracy",
    ),
    Program(
        "one rank alone communicates",
        {"dist.all_reduce": "dist.get_rank() == 0 and dist.all_reduce"},
        says="left early",
    ),
)

RIGHT = {
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
