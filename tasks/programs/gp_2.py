"""GP-2: wrong programs that the check must catch, and right ones that it must pass."""

from helpers.grade.task import Program

PROGRAMS = (
    Program(
        "the sum",
        """
        used = [p for p in model.parameters() if p.grad is not None]
        for p in used:
            mine = p.grad
            dist.all_reduce(mine)
            pass
        """,
        says="are the sum over the ranks",
    ),
    Program(
        "weights too",
        """
        used = [p for p in model.parameters() if p.grad is not None]
        for p in used:
            mine = p.grad
            dist.all_reduce(mine)
            mine /= dist.get_world_size(); p.data *= 0.9
        """,
        says="the weights have changed",
    ),
    Program(
        "gradients that are none",
        """
        for p in model.parameters():
            dist.all_reduce(p.grad)
            p.grad.div_(3)
        """,
        says="NoneType",
        alone=True,
    ),
)

RIGHT = {
    "divided before": """
        used = [p for p in model.parameters() if p.grad is not None]
        for p in used:
            mine = p.grad
            mine /= dist.get_world_size()
            dist.all_reduce(mine)
        """,
}
