"""PP-3: 1F1B, one forward and one backward in turn."""

from helpers.grade import Task

TASK = Task(
    id="PP-3",
    title="1F1B: one forward, one backward, in turn",
    file="PP/1F1B/intro_PP_1F1B.py",
    function="forward_backward",
    notebook="06",
    points=25,
    minutes=30,
    ranks=4,  # the lessons use three: a 2 or a 3 that is written into the code shows
    hints=(
        "Only the order is new. The last rank can go backward with a micro-batch as soon as it "
        "went forward with it. How many more must the rank before it have sent by then? And what "
        "happens where one rank sends an activation while its neighbor sends a gradient?",
        "A rank with d ranks after it goes forward min(d, micro_batches) times first. From then "
        "on: one forward, if one is left, then one backward. Two neighbors may now send to each "
        "other at the same time: dist.isend returns at once, and gives a message to wait for.",
        "Take forward(k) and backward(k) of GPipe, with dist.isend in place of dist.send, and keep "
        "each message with its tensor under k. First, for each k below ahead = min(last - rank, "
        "micro_batches), forward(k). Then for each k: forward(k + ahead) if there is such a "
        "micro-batch, and backward(k). Once the gradient of k has come, so has its y: wait() for "
        "that message and let go of it. Before you send x.grad of k, wait() for that of k - 1; "
        "and at the end for the last one. (is_completed() won't do: gloo says False until wait().)",
    ),
)


def run(module, case):
    """On every rank: call the work on one stage, twice, and note what happens at the stage.

    case: the weights of all stages by name, vocab_size, and for each call (micro_batches, ids).
    """
    from tasks import _stages

    return _stages.run_calls(module.forward_backward, case)
