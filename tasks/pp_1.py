"""PP-1: take a batch through a naive pipeline, and its gradient back."""

from helpers.grade import Task

TASK = Task(
    id="PP-1",
    title="take a batch through the stages, and its gradient back",
    file="PP/naive/intro_PP_naive.py",
    function="forward_backward",
    notebook="05",
    points=15,
    minutes=30,
    ranks=4,  # the lessons use three: a 2 or a 3 that is written into the code shows
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


def run(module, case):
    """On every rank: call the work on one stage, twice, and note what happens at the stage.

    case: the weights of all stages by name, vocab_size, and for each call (micro_batches, ids).
    """
    from tasks import _stages

    def call(stage, ids, micro_batches, place, recorder):
        return module.forward_backward(stage, ids, place, recorder)

    return _stages.run_calls(call, case)
