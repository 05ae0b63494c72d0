"""TW-1: the trainer of DP-PP-2 on torch's mesh, sharded and pipelined by torch."""

from helpers.grade import Task

TASK = Task(
    id="TW-1",
    title="port DP x PP to a mesh",
    file="DP_PP/torchs_words.py",
    function="train",
    notebook="19",
    points=20,
    minutes=40,
    seconds=150,
    ranks=4,
    libraries=("torch._dynamo", "torch.distributed.pipelining"),
    hints=(
        "Take your trainer of lesson 08 and replace three things: grid and groups become a mesh, "
        "average_gradients becomes fully_shard (before the optimizer is made), and Pipeline "
        "becomes PipelineStage in a schedule. The loop around them stays.",
        "dp, pp, tp = mesh.get_coordinate(). This rank reads part dp of mesh['dp'].size(), and its "
        "stage is number pp of options.stages. Shard every Block among stage.modules() over "
        "mesh['dp'], then the stage. The group of PipelineStage is mesh['pp'].get_group().",
        "make = SCHEDULES[options.schedule], then schedule = make(part, options.micro_batches, "
        "loss_fn=loss_of). In the loop: optimizer.zero_grad(); schedule.step(ids) on the first "
        "stage, schedule.step(target=ids, losses=found) on the last, schedule.step(ids, "
        "target=ids, losses=found) if it is both; optimizer.step(); where found isn't empty, the "
        "loss is the mean of it.",
    ),
)


def run(module, case):
    """On every rank: what it has after a few steps; all of each tensor."""
    from tasks._trained import trained

    return trained(module, case, module.whole)[0]
