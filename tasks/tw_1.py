"""TW-1: port DP x PP to a mesh.

torch divides the gradients of a step by its micro-batches at the end, those that were there before
the step as well: without zero_grad, a fourth of the last step's is left.
"""

from tasks import _trained

HINTS = (
    "Take your trainer of lesson 08 and replace three things: grid and groups become a mesh, "
    "average_gradients becomes fully_shard (before the optimizer is made), and Pipeline becomes "
    "PipelineStage in a schedule. The loop around them stays.",
    "dp, pp, tp = mesh.get_coordinate(): this rank reads part dp of mesh['dp'].size(). Shard "
    "every Block among stage.modules() over mesh['dp'], then the stage. schedule = "
    "SCHEDULES[options.schedule](part, options.micro_batches, loss_fn=loss_of). In the loop: "
    "schedule.step(ids) on the first stage, step(target=ids, losses=found) on the last, both if "
    "it is both; where found isn't empty, the loss is the mean of it.",
)
LESSON, MINUTES, RANKS = "torchs_own_words", 45, 4
SECONDS = 150
LIBRARIES = ("torch._dynamo", "torch.distributed.pipelining")


def observe(module, case):
    return _trained.trained(module, case, module.whole)[0]


def cases():
    """Those of DP-PP-2, with more micro-batches: torch's 1F1B wants at least as many as stages."""
    return _trained.cases("--micro-batches", "4")


explain, NAME, TOLERANCE = _trained.explain, _trained.NAME, _trained.TOLERANCE
PART, STEP = 'tokenizer, dp, mesh["dp"].size(),', "optimizer.step()"
SUM = "for p in stage.parameters():\n    p.grad *= mesh['dp'].size()"
SHARD = 'fully_shard(module, mesh=mesh["dp"], reshard_after_forward=False)'
MUTANTS = {
    (PART, "tokenizer, 0, 1,"): "every pipeline reads the same stories, so the second one adds "
    "nothing: give make_stories the number of the replica, dp, and their number, mesh['dp'].size()",
    (PART, "tokenizer, place.rank, place.world_size,"): "the stories are divided among all ranks, "
    "so the last stage of a pipeline compares with another text than its first stage reads: "
    "divide them along mesh['dp']",
    (SHARD, "pass"): "nobody averages: each pipeline trains a model of its own; fully_shard over "
    "mesh['dp'] averages in the backward",
    (STEP, f"{SUM}\n{STEP}"): "the gradients are the sum over the pipelines: fully_shard divides "
    "by their number, so nothing must undo it",
    ("optimizer.zero_grad()", "pass"): "a part of the last step's gradients is still there, "
    "because torch's step divides all of .grad by the micro-batches: call optimizer.zero_grad() "
    "in every step",
    (STEP, "pass"): "the weights are those of the start: nobody calls optimizer.step(), or the "
    "optimizer was made before fully_shard and still holds the old parameters",
}


STOPPED = {
    "larger than number of stages": "the pipeline goes over all ranks, and they are several "
    "pipelines: give PipelineStage group=mesh['pp'].get_group()"
}
