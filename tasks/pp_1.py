"""PP-1: take a batch through a naive pipeline, and its gradient back."""

from pathlib import Path

from helpers.grade import Submission, Task
from helpers.grade.task import load_module

stages = load_module(Path(__file__).with_name("_stages.py"), "lab_task_stages")

TASK = Task(
    id="PP-1",
    title="take a batch through the stages, and its gradient back",
    file="PP/naive/intro_PP_naive.py",
    function="forward_backward",
    notebook="05",
    points=15,
    minutes=30,
    hints=(
        "A stage does four things in turn: get its input, compute, hand the result on, and later "
        "the same for gradients the other way round. Which rank has no neighbour before it, and "
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

# The second call comes without zero_grad(): its gradients must add up with those of the first.
CALLS = (stages.Call(1, rows=3, length=7), stages.Call(1, rows=2, length=5))


def work(module, seed):
    """On every rank, beside the student's code: the facts of each call."""

    def run(stage, ids, call, place, recorder):
        return module.forward_backward(stage, ids, place, recorder)

    return stages.run_calls(run, seed, CALLS)


def verify(submission: Submission) -> None:
    """Compare with one device. Raises Mistake or WorkFailed."""
    stages.judge_calls(stages.answers_of(submission, work), submission.seed, CALLS)
