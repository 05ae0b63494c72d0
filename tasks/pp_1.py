"""PP-1: take a batch through a naive pipeline, and its gradient back."""

from helpers.grade import Task
from tasks import _stages

TASK = Task(
    title="take a batch through the stages, and its gradient back",
    file="PP/naive/intro_PP_naive.py",
    function="forward_backward",
    lesson="naive_pipeline",
    minutes=30,
    ranks=4,  # the lessons use three: a 2 or a 3 that is written into the code shows
    libraries=("torch.fx.experimental.symbolic_shapes",),  # hooks on saved tensors need it
    done_by=("pipeline",),
    hints=(
        "A stage does four things in turn: get its input, compute, hand the result on, and later "
        "the same for gradients the other way round. Which rank has no neighbor before it, and "
        "which has none after it?",
        "recv fills a tensor that is already there: make it with torch.empty(shape). What arrives "
        "is numbers alone, without a graph, so call x.requires_grad_() before stage(x). Backward "
        "begins with loss.backward() on the last rank, and with y.backward(gradient) on the "
        "others.",
        "Rank 0: x = ids; others: receive x from rank - 1, then x.requires_grad_(). Inside "
        'recorder.span("F", …): y = stage(x), and on the last rank the loss, '
        "causalLLMLoss(y, ids, stage.config.vocab_size). Not the last: send y.detach() to "
        'rank + 1, receive the gradient from there. Inside span "B": y.backward(gradient), on '
        "the last rank loss.backward(). Not the first: send x.grad to rank - 1. Return the loss, "
        "or None.",
    ),
)


def observe(module, case):
    """On every rank: call the work on one stage, twice, and note what happens at the stage.

    case: the weights of all stages by name, vocab_size, and for each call (micro_batches, ids).
    """

    def call(stage, ids, micro_batches, place, recorder):
        return module.forward_backward(stage, ids, place, recorder)

    seen = _stages.run_calls(call, case)
    for one in seen.values():
        one["spans"] = {span[0]: True for span in one["spans"] if span}
        one["passes"] = "".join(kind for kind, _ in one["_seen"]["order"])
    return seen


def cases(seed):
    """Two calls; the second comes without zero_grad(): its gradients add to those of the first."""
    return _stages.cases(seed, calls=((1, 3, 7), (1, 2, 5)))


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
explain, stopped, stuck = _stages.explain, _stages.stopped, _stages.stuck
