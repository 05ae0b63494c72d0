"""PP-2: GPipe, all micro-batches forward and then all backward."""

from pathlib import Path

from helpers.grade import Mistake, Submission, Task
from helpers.grade.task import load_module

stages = load_module(Path(__file__).with_name("_stages.py"), "lab_task_stages")

TASK = Task(
    id="PP-2",
    title="take micro-batches through the pipeline: all forward, then all backward",
    file="PP/microbatches/intro_PP_microbatches.py",
    function="forward_backward",
    notebook="06",
    points=20,
    minutes=40,
    hints=(
        "One micro-batch goes through as the batch did in the naive pipeline. What must a rank "
        "keep of micro-batch 0 while micro-batch 1 goes forward? And what is the batch's mean "
        "loss, if each micro-batch has a mean loss of its own?",
        "Write forward(k) and backward(k), and two loops. forward keeps x and y under k; "
        "backward(k) takes them out again. On the last rank each micro-batch is one share of the "
        "mean: divide its loss by micro_batches, or every gradient is that many times too large.",
        "forward(k): x = parts[k], or received and then x.requires_grad_(); inside "
        'recorder.span("F", stage=rank, micro_batch=k) y = stage(x), and on the last rank '
        "y = its loss / micro_batches; keep both; send y.detach() on. backward(k): receive the "
        'gradient (None on the last rank); inside span "B" y.backward(gradient); send x.grad back. '
        "Return the sum of the shares on the last rank.",
    ),
)

# More micro-batches than stages, then fewer. Nothing is thrown away between the two calls.
CALLS = (stages.Call(6, rows=2, length=6), stages.Call(2, rows=3, length=5))


def work(module, seed):
    """On every rank, beside the student's code: the facts of each call."""

    def run(stage, ids, call, place, recorder):
        return module.forward_backward(stage, ids, call.micro_batches, place, recorder)

    return stages.run_calls(run, seed, CALLS)


def verify(submission: Submission) -> None:
    """Compare with one device, then look at the order. Raises Mistake or WorkFailed."""
    answers = stages.answers_of(submission, work)
    stages.judge_calls(answers, submission.seed, CALLS)
    for number, call in enumerate(CALLS):
        ids = stages.batches(submission.seed, CALLS)[number]
        truth = stages.truth_of(stages.whole_model(submission.seed), call, ids)
        for rank, answer in enumerate(answers):
            judge_order(truth, rank, answer[number])
            stages.judge_spans(truth, rank, answer[number])


def judge_order(truth, rank, fact):
    """All forward, then all backward, in whatever order each. Raises Mistake."""
    m, order = truth.call.micro_batches, stages.order_of(truth, rank, fact)
    kinds = "".join(kind for kind, _ in order)
    if kinds == m * "F" + m * "B":
        return
    text = stages.in_letters(order)
    if kinds == m * "FB":
        raise Mistake(
            f"rank {rank} computes {text}: each micro-batch comes back before the next goes "
            "forward, as if there were one rank at work; all go forward first, then all backward"
        )
    raise Mistake(
        f"rank {rank} computes {text}, and this is not GPipe's order: all micro-batches go "
        "forward, then all go backward"
    )
