"""Programs for DP-2: wrong ones, most of which train without a sign of it, and right ones."""

from helpers.grade.task import Program

PROGRAMS = (
    Program(
        "written into a copy",
        """
        state = {name: value.clone() for name, value in model.state_dict().items()}
        for value in state.values():
            dist.all_reduce(value)
            value /= world_size
        """,
        says="never written back",
    ),
    Program(
        "skips what has no gradient",
        """
        for p in model.parameters():
            if p.grad is not None:
                dist.all_reduce(p.data)
                p.data /= world_size
        """,
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
        "rank 0 tells all",
        """
        for p in model.parameters():
            dist.broadcast(p.data, src=0)
        """,
        says="every rank has the weights of rank 0",
    ),
    Program(
        "rounded on the way",
        """
        for p in model.parameters():
            short = p.detach().float()
            dist.all_reduce(short)
            p.data.copy_(short / world_size)
        """,
        says="float32's accuracy",
    ),
    Program(
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

RIGHT = {
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
    "torch's own flat vector": """
        from torch.nn.utils import parameters_to_vector, vector_to_parameters

        flat = parameters_to_vector(model.parameters()).detach()
        dist.all_reduce(flat)
        vector_to_parameters(flat / world_size, model.parameters())
        """,
}
