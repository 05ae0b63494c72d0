"""DP-2: average the weights."""

from helpers.grade import Task

TASK = Task(
    id="DP-2",
    title="average the weights",
    file="DP/weight_aggr/intro_DP_WA.py",
    function="average_weights",
    notebook="04",
    points=10,
    minutes=15,
    ranks=4,  # the lesson uses three: a 2 or a 3 that is written into the code shows
    hints=(
        "Each rank has taken a step of its own, so the weights differ. You know the collective "
        "that adds what all ranks hold. What must stay the same object, because the optimizer "
        "holds it?",
        "A parameter wants gradients, so torch refuses to write into it: do it under "
        "torch.no_grad(). And `p = something` gives the name p to another tensor; it writes "
        "nothing into the model.",
        "Under torch.no_grad(), go over model.parameters(): all_reduce each p, then divide p by "
        "world_size, in place. (Faster, for later: join all weights into one flat tensor, send "
        "that once, and copy_ each part back.)",
    ),
)


def run(module, case):
    """On every rank: average this rank's model; what its parameters hold afterwards.

    case: for each rank {name: (weight, gradient or None)}.
    """
    import torch
    import torch.distributed as dist

    model = torch.nn.Module()
    for name, (weight, gradient) in case[dist.get_rank()].items():
        parameter = torch.nn.Parameter(weight.clone(), requires_grad=name != "frozen")
        parameter.grad = None if gradient is None else gradient.clone()
        model.register_parameter(name, parameter)
    held = dict(model.named_parameters())  # as an optimizer holds them
    module.average_weights(model, dist.get_world_size())
    now = dict(model.named_parameters())
    return {
        "weight": {name: p.detach() for name, p in now.items()},
        "gradient": {name: p.grad for name, p in now.items()},
        "replaced": [name for name, p in held.items() if now.get(name) is not p],
    }
