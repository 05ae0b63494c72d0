"""DP-PP-2: the trainer of a grid of any shape."""

from helpers.grade import Task

TASK = Task(
    id="DP-PP-2",
    title="write the trainer for a grid of any shape",
    file="DP_PP/intro_DP_PP.py",
    function="train",
    notebook="08",
    points=25,
    minutes=45,
    ranks=4,
    libraries=("torch._dynamo",),  # an optimizer needs it
    hints=(
        "Ask for each of the five parts: does it depend on the row, on the column, or on neither? "
        "The two ends of a pipeline must read the same text, and two pipelines must not.",
        "here = grid.coordinates(place.rank) says which row (here.dp) and which column (here.pp). "
        "The stage is number here.pp of grid.pp, the text is part here.dp of grid.dp. Pipeline "
        "talks along groups.pp and average_gradients along groups.dp.",
        "Before the loop: grid, here, groups, tokenizer and stage, stories (an iterator), "
        "optimizer, recorder, a loss of (logits, ids) with tokenizer.vocab_size, and "
        "Pipeline(schedule, {here.pp: stage}, groups.pp, loss=..., recorder=...). In the loop: "
        "zero_grad, ids = next(stories), outcome = pipeline.step(ids, ids), average, step; where "
        "outcome.loss is not None, append check_finite(outcome.loss, step) and call say.",
    ),
)


def run(module, case):
    """On every rank: what it has after a few steps, in float64.

    case: {"dp", "pp", "flags": of the script}.
    """
    import torch
    import torch.distributed as dist

    from helpers.ranks import Place
    from simplellm.slicing import whole_name

    rank, world = dist.get_rank(), dist.get_world_size()
    said, before = [], torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        options = module.read_flags(case["flags"])
        place = Place(rank, world, rank, world)
        losses, stage, trace = module.train(options, place, "cpu", lambda *pair: said.append(pair))
    finally:
        torch.set_default_dtype(before)
    kinds = {event.kind for event in trace.events}
    return {
        "losses": [float(loss) for loss in losses],
        "said": [step for step, _ in said],
        "weights": {
            whole_name(name, getattr(stage, "first_layer", 0)): w.detach()
            for name, w in stage.named_parameters()
        },
        "not in the trace": sorted({"F", "B", "all-reduce", "update"} - kinds),
    }
