"""DP-2: wrong work, most of which trains without a sign of it, and right work."""

from helpers.grade.task import Program

PROGRAMS = (
    Program(
        "skips what has no gradient",
        {"list(model.parameters())": "[p for p in model.parameters() if p.grad is not None]"},
        says="'spare' has no gradient in this step, and was left out",
    ),
    Program(
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
    Program(
        "one rank alone communicates",
        {"dist.all_reduce": "dist.get_rank() == 0 and dist.all_reduce"},
        says="left early",
    ),
)

RIGHT = {
    "other memory, the same parameter, and the frozen one left alone": """
        for p in model.parameters():
            if p.requires_grad:
                everybody = [torch.empty_like(p.data) for _ in range(world_size)]
                dist.all_gather(everybody, p.data)
                p.data = torch.stack(everybody).mean(0)
        """,
}
