"""DP-PP-2: write the trainer for a grid of any shape."""

from tasks import _trained

HINTS = (
    "Ask for each of the five parts: does it depend on the row, on the column, or on neither? The "
    "two ends of a pipeline must read the same text, and two pipelines must not.",
    "here = grid.coordinates(place.rank): the stage is number here.pp of grid.pp, the text is "
    "part here.dp of grid.dp; Pipeline(schedule, {here.pp: stage}, groups.pp, loss=..., "
    "recorder=...), average_gradients along groups.dp. In the loop: zero_grad, ids = "
    "next(stories), outcome = pipeline.step(ids, ids), average, step; where outcome.loss is not "
    "None, append check_finite(outcome.loss, step) and call say.",
)
LESSON, MINUTES, RANKS = "dp_x_pp", 45, 4


def observe(module, case):
    seen, trace = _trained.trained(module, case)
    kinds = {event.kind for event in trace.events}
    missing = sorted({"F", "B", "all-reduce", "update"} - kinds)
    return seen | {"not in the trace": " and ".join(missing) or "nothing"}


cases, explain, NAME = _trained.cases, _trained.explain, _trained.NAME
TOLERANCE = _trained.TOLERANCE
PART, AVERAGE = "tokenizer, here.dp, grid.dp,", "average_gradients(stage, groups.dp)"
MUTANTS = {
    (PART, "tokenizer, 0, 1,"):
        "every pipeline reads the same stories, so the second one adds nothing: give make_stories "
        "the number of the row, here.dp, and the number of rows",
    (PART, "tokenizer, 0, grid.dp,"):
        "every pipeline reads part 0 of the stories: the part is the number of the row, here.dp",
    (PART, "tokenizer, place.rank, place.world_size,"):
        "the stories are divided among all ranks, so the last stage of a pipeline compares with "
        "another text than its first stage reads: divide them among the rows, here.dp of grid.dp",
    (PART, "tokenizer, here.pp, grid.pp,"):
        "the stories are divided among the stages: the part is here.dp of grid.dp, the row, not "
        "the column",
    (AVERAGE, "pass"):
        "nobody averages: each pipeline trains a model of its own; call average_gradients(stage, "
        "groups.dp) between the step of the pipeline and that of the optimizer",
    (AVERAGE, f"{AVERAGE}\nfor p in stage.parameters():\n    p.grad *= grid.dp"):
        "the gradients are the sum over the pipelines: average_gradients must divide",
    ("optimizer.zero_grad()", "pass"):
        "the gradients of earlier steps are still there: call optimizer.zero_grad() in every step",
    ("optimizer.step()", "pass"):
        "the weights are those of the start: nobody calls optimizer.step()",
}  # fmt: skip
STOPPED = {
    "different sizes": "the ranks of one row average with each other, and they hold different "
    "layers: the average goes down the column, over groups.dp"
}
