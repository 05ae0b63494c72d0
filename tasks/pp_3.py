"""PP-3: 1F1B, one forward and one backward in turn."""

from pathlib import Path

from helpers.grade import Mistake, Submission, Task
from helpers.grade.task import load_module

stages = load_module(Path(__file__).with_name("_stages.py"), "lab_task_stages")

TASK = Task(
    id="PP-3",
    title="1F1B: one forward, one backward, in turn",
    file="PP/1F1B/intro_PP_1F1B.py",
    function="forward_backward",
    notebook="06",
    points=25,
    minutes=45,
    hints=(
        "Only the order is new. The last rank can go backward with a micro-batch as soon as it "
        "went forward with it. How many more must the rank before it have sent by then? And what "
        "happens where one rank sends an activation while its neighbour sends a gradient?",
        "A rank with d ranks after it goes forward min(d, micro_batches) times first. From then "
        "on: one forward, if one is left, then one backward. Two neighbours may now send to each "
        "other at the same time: dist.isend returns at once, and gives a message to wait for.",
        "Take forward(k) and backward(k) of GPipe, with dist.isend in place of dist.send. Keep "
        "each message together with its tensor in a list. First, for each k below "
        "ahead = min(last - rank, micro_batches), forward(k). Then for each k: forward(k + ahead) "
        "if there is such a micro-batch, and backward(k). At the end, wait() for every message.",
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
    """Compare with one device, then look at order and memory. Raises Mistake or WorkFailed."""
    from helpers.schedules import in_flight, one_f_one_b

    answers = stages.answers_of(submission, work)
    stages.judge_calls(answers, submission.seed, CALLS)
    for number, call in enumerate(CALLS):
        ids = stages.batches(submission.seed, CALLS)[number]
        truth = stages.truth_of(stages.whole_model(submission.seed), call, ids)
        facts = [answer[number] for answer in answers]
        right = one_f_one_b(stages.RANKS, call.micro_batches)
        orders = [stages.order_of(truth, rank, fact) for rank, fact in enumerate(facts)]
        judge_orders(orders, [[(kind, k) for kind, _, k in row] for row in right.ranks])
        for rank, fact in enumerate(facts):
            stages.judge_spans(truth, rank, fact)
            judge_memory(rank, fact["kept"], in_flight(right)[rank], call.micro_batches)


def judge_orders(orders, right):
    """Whether each rank did what 1F1B does; if not, what it did. Raises Mistake."""
    if orders == right:
        return
    kinds = ["".join(kind for kind, _ in order) for order in orders]
    m = len(orders[0]) // 2
    if all(row == m * "F" + m * "B" for row in kinds):
        raise Mistake(
            "this is GPipe's order: on every rank all micro-batches go forward, then all go "
            f"backward, and so all {m} are kept; in 1F1B a rank goes backward as soon as it can"
        )
    if all(row == m * "FB" for row in kinds):
        raise Mistake(
            "this is the naive order: on every rank each micro-batch comes back before the next "
            "goes forward, and the others wait; let last - rank micro-batches go ahead"
        )
    for rank, (order, expected) in enumerate(zip(orders, right, strict=True)):
        if order == expected:
            continue
        did, should = (warm_up(row) for row in (order, expected))
        shown = (
            f"rank {rank} computes {stages.in_letters(order)}, and 1F1B is "
            f"{stages.in_letters(expected)}"
        )
        if did != should:
            amount = f"{abs(did - should)} too {'many' if did > should else 'few'}"
            raise Mistake(
                f"rank {rank} goes forward {did} times before its first backward, which is "
                f"{amount} with {len(orders)} stages: {shown}"
            )
        raise Mistake(f"this is not the order of 1F1B: {shown}")


def warm_up(order):
    """How many forward passes come before the first backward pass."""
    return next((i for i, (kind, _) in enumerate(order) if kind == "B"), len(order))


def judge_memory(rank, kept, right, m):
    """Whether what a backward pass has used is let go. Raises Mistake."""
    if kept > right:
        raise Mistake(
            f"the order is right, and still rank {rank} keeps the activations of {kept} of {m} "
            f"micro-batches at one time, where {right} would do: let backward() free them (no "
            "retain_graph), and keep no other tensor of a micro-batch that has come back"
        )
