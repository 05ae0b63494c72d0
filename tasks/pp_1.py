"""PP-1: take a batch through the stages, and its gradient back."""

from tasks import _stages

HINTS = (
    "recv fills a tensor that is already there: torch.empty(shape). What arrives has no graph, so "
    "call x.requires_grad_() before stage(x). Which rank begins backward, and with what?",
    "Rank 0: x = ids; others: receive x, then x.requires_grad_(). In span F: y = stage(x), and on "
    "the last rank the loss. Not the last: send y.detach(), receive the gradient. In span B: "
    "y.backward(gradient), or loss.backward(). Not the first: send x.grad. Return the loss.",
)
LESSON, MINUTES, RANKS = "naive_pipeline", 30, 4


def observe(module, case):
    def call(stage, ids, micro_batches, place, recorder):
        return module.forward_backward(stage, ids, place, recorder)

    seen = _stages.observe(call, case)
    for one in seen.values():
        one["spans"] = {span[0]: True for span in reversed(one["spans"])}
        one["passes"] = [each[0] for each in one["_seen"]["order"]]
    return seen


def cases():
    """Two calls; the second comes without zero_grad(): its gradients add to those of the first."""
    return _stages.cases(calls=((1, 3, 7), (1, 2, 5)))


LOSS, BEGIN = "causalLLMLoss(y, ids, stage.config.vocab_size)", "if rank == 0:"
MUTANTS = {
    (LOSS, f"{LOSS} / dist.get_world_size()"): "the loss is divided by the number of ranks, and "
    "only one of them computes it: it is the batch's mean as it is",
    (BEGIN, f"stage.zero_grad()\n{BEGIN}"): "a second call without zero_grad() throws away the "
    "gradients of the first: backward() adds to p.grad by itself, and gradient accumulation needs "
    "that",
    ("dist.send(x.grad, ", "dist.send(x.detach(), "): "a stage sends back what came forward: send "
    "x.grad, not x",
    ("dist.send(x.grad, ", "dist.send(x.grad if rank == last else gradient, "): "a stage sends on "
    "the gradient that it got itself: send back x.grad, which backward has left at its input",
}
explain, STOPPED, stuck = _stages.explain, _stages.STOPPED, _stages.stuck
