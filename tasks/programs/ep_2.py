"""EP-2: wrong and right work, as programs."""

from helpers.grade.task import Program

PROGRAMS = (
    Program(
        "a mean over the replicas",
        """
        for name, p in net.named_parameters():
            group = replicas if is_expert(name) else None
            dist.all_reduce(p.grad, op=dist.ReduceOp.AVG, group=group)
        """,
        says="divided by its 2 replicas",
    ),
    Program(
        "over all ranks",
        """
        for p in net.parameters():
            dist.all_reduce(p.grad)
            p.grad /= dist.get_world_size()
        """,
        says="mixed with the gradients of other experts",
    ),
    Program(
        "experts left out",
        """
        for name, p in net.named_parameters():
            if not is_expert(name):
                dist.all_reduce(p.grad)
                p.grad /= dist.get_world_size()
        """,
        says="left as it was",
    ),
)

RIGHT = {
    "flat": """
        for wanted, group in ((True, replicas), (False, None)):
            gradients = [p.grad for name, p in net.named_parameters() if is_expert(name) is wanted]
            flat = torch_cat([g.flatten() for g in gradients])
            dist.all_reduce(flat, group=group)
            flat /= dist.get_world_size()
            for g, part in zip(gradients, flat.split([g.numel() for g in gradients])):
                g.copy_(part.view_as(g))
        """.replace("torch_cat", "__import__('torch').cat"),
}
