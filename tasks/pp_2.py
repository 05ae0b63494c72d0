"""PP-2: GPipe, all micro-batches forward and then all backward."""

from helpers.grade import Task
from tasks import _stages

TASK = Task(
    title="take micro-batches through the pipeline: all forward, then all backward",
    file="PP/microbatches/intro_PP_microbatches.py",
    function="forward_backward",
    lesson="micro_batches",
    minutes=30,
    ranks=4,  # the lessons use three: a 2 or a 3 that is written into the code shows
    libraries=("torch.fx.experimental.symbolic_shapes",),  # hooks on saved tensors need it
    done_by=("pipeline",),
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


def observe(module, case):
    """On every rank: call the work on one stage, twice, and note what happens at the stage.

    case: the weights of all stages by name, vocab_size, and for each call (micro_batches, ids).
    """
    seen = _stages.run_calls(module.forward_backward, case)
    for one in seen.values():
        one["order"] = "".join(kind for kind, _ in one["_seen"]["order"])
    return seen


def cases(seed):
    """More micro-batches than stages, then fewer; nothing is thrown away between the two calls."""
    return _stages.cases(seed, calls=((6, 2, 6), (2, 3, 5)))


BACK = "\nfor k in range(micro_batches):\n    backward(k)"
MUTANTS = {
    (" / micro_batches", ""): "every gradient is as many times too large as there are "
    "micro-batches: their losses were summed, and the batch's loss is their mean; divide each by "
    "micro_batches",
    (" / micro_batches", " / micro_batches**2"): "every gradient is too small: the loss was "
    "divided by micro_batches twice",
    (" / micro_batches", " / 3"): "the loss of each micro-batch is divided by 3, the lesson's "
    "number: divide by micro_batches",
    (
        (" / micro_batches", ""),
        (
            "return sum(losses)",
            "[p.grad.div_(micro_batches) for p in stage.parameters()]\n"
            "return sum(losses) / micro_batches",
        ),
    ): "the gradients that were there before the call were divided too: divide the loss of each "
    "micro-batch by micro_batches, and leave p.grad to backward()",
    ("def forward(k):", "stage.zero_grad()\ndef forward(k):"): "a second call without zero_grad() "
    "throws away the gradients of the first: backward() adds to p.grad by itself, and gradient "
    "accumulation needs that",
    ("y.backward(gradient)", "stage.zero_grad()\ny.backward(gradient)"): "only the last "
    "micro-batch of each rank counts: zero_grad() stands inside the loop over the micro-batches",
    ("(y, parts[k]", "(y, parts[k - 1]"): "the loss of a micro-batch is computed with the ids of "
    "another one: both have the index k",
    ("append(y.detach())", "append(y.detach() * micro_batches)"): "the gradients are right, and "
    "the loss that the last rank returns is the sum over the micro-batches: return their mean",
    ("return sum(losses)", "return losses[-1]"): "the gradients are right, and the last rank "
    "returns the loss of the last micro-batch alone: return the sum of all shares",
    (BACK, "\n    backward(k)"): "each micro-batch comes back before the next goes forward, as if "
    "there were one rank at work; all go forward first, then all backward",
    (
        ('"F", stage=rank, micro_batch=k', '"F"'),
        ('"B", stage=rank, micro_batch=k', '"B"'),
    ): "the spans do not say which pass is inside: put each pass into recorder.span(kind, "
    "stage=rank, micro_batch=k)",
}
explain, stopped, stuck = _stages.explain, _stages.stopped, _stages.stuck
