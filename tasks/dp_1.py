"""DP-1: average the gradients."""

from helpers.grade import Task

TASK = Task(
    id="DP-1",
    title="average the gradients",
    file="DP/gradient_aggr/intro_DP_GA.py",
    function="average_gradients",
    notebook="03",
    points=10,
    minutes=15,
    ranks=4,  # the lesson uses three: a 2 or a 3 that is written into the code shows
    hints=(
        "After backward, p.grad of each parameter holds this rank's gradient. Which collective "
        "gives every rank the sum of what all ranks hold?",
        "dist.all_reduce(tensor) puts the sum over all ranks into `tensor` itself, on every rank. "
        "How does a sum become a mean? And which parameters have no gradient to send?",
        "Go over model.parameters(). Skip a parameter whose grad is None. For each other one: "
        "all_reduce its grad, then divide the grad by world_size, in place. (Faster, for later: "
        "join all gradients into one flat tensor, and send that once.)",
    ),
)


def run(module, case):
    """On every rank: call the work on this rank's model; what stands in its parameters afterwards.

    case: for each rank {name: (weight, gradient or None)}.
    """
    import torch
    import torch.distributed as dist

    model = torch.nn.Module()
    for name, (weight, gradient) in case[dist.get_rank()].items():
        parameter = torch.nn.Parameter(weight.clone(), requires_grad=gradient is not None)
        parameter.grad = None if gradient is None else gradient.clone()
        model.register_parameter(name, parameter)
    module.average_gradients(model, dist.get_world_size())
    gradients = {name: p.grad for name, p in model.named_parameters()}
    if gradients["frozen"] is not None and not gradients["frozen"].any():
        gradients["frozen"] = None  # zeros do no harm
    return {"weight": {n: p.detach() for n, p in model.named_parameters()}, "gradient": gradients}
