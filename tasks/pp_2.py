"""PP-2: GPipe, all micro-batches forward and then all backward."""

from helpers.grade import Task

TASK = Task(
    id="PP-2",
    title="take micro-batches through the pipeline: all forward, then all backward",
    file="PP/microbatches/intro_PP_microbatches.py",
    function="forward_backward",
    notebook="06",
    points=20,
    minutes=30,
    ranks=4,  # the lessons use three: a 2 or a 3 that is written into the code shows
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


def run(module, case):
    """On every rank: call the work on one stage, twice, and note what happens at the stage.

    case: the weights of all stages by name, vocab_size, and for each call (micro_batches, ids).
    """
    from tasks import _stages

    return _stages.run_calls(module.forward_backward, case)
