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
    """On every rank: what it has after a few steps, and what it didn't record."""
    from tasks._trained import trained

    seen, trace = trained(module, case)
    kinds = {event.kind for event in trace.events}
    return seen | {"not in the trace": sorted({"F", "B", "all-reduce", "update"} - kinds)}
