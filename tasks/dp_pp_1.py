"""DP-PP-1: average the gradients of each stage over its copies in all pipelines."""

from helpers.grade import Task

TASK = Task(
    id="DP-PP-1",
    title="average the gradients within each stage",
    file="DP_PP/intro_DP_PP.py",
    function="average_gradients",
    notebook="08",
    points=10,
    minutes=15,
    ranks=4,
    hints=(
        "Two ranks hold the same stage, one in each pipeline; the others hold other layers, whose "
        "gradients mean something else. What does an all_reduce need, so that it goes over these "
        "two alone? And by how many must the sum be divided?",
        "Every collective of torch.distributed takes group=…; left out, it goes over all ranks. "
        "dist.get_world_size(group) is the number of ranks in the group.",
        "As in DP-1, with dist.all_reduce(p.grad, group=group) for each p of stage.parameters(), "
        "and then a division by dist.get_world_size(group), in place.",
    ),
)


def run(module, case):
    """On every rank: call the work on this rank's stage; what stands in its parameters afterwards.

    case: (pipelines, stages of each), and for each rank {name: (weight, gradient)}.
    """
    import torch
    import torch.distributed as dist

    from helpers.grid import Grid, make_groups

    (dp, pp), ranks = case
    stage = torch.nn.Module()
    for name, (weight, gradient) in ranks[dist.get_rank()].items():
        parameter = torch.nn.Parameter(weight.clone())
        parameter.grad = gradient.clone()
        stage.register_parameter(name, parameter)
    module.average_gradients(stage, make_groups(Grid(dp=dp, pp=pp)).dp)
    return {
        "weight": {name: p.detach() for name, p in stage.named_parameters()},
        "gradient": {name: p.grad for name, p in stage.named_parameters()},
    }
