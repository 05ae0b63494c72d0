"""PP-2: take micro-batches through the pipeline: all forward, then all backward."""

from tasks import _stages

HINTS = (
    "What must a rank keep of micro-batch 0 while micro-batch 1 goes forward? And what is the "
    "batch's mean loss, if each micro-batch has a mean loss of its own?",
    "Write forward(k) and backward(k), and two loops: PP-1 for each k. forward keeps x and y "
    "under k, backward takes them out. On the last rank y = loss / micro_batches; return the sum "
    "of these shares.",
)
LESSON, MINUTES, RANKS = "micro_batches", 30, 4


def observe(module, case):
    seen = _stages.observe(module.forward_backward, case)
    for one in seen.values():
        one["order"] = "".join(each[0] for each in one["_seen"]["order"])
    return seen


def cases():
    """More micro-batches than stages, then fewer; nothing is thrown away between the two calls."""
    return _stages.cases(calls=((6, 2, 6), (2, 3, 5)))


SHARE, SUM, FIRST = " / micro_batches", "return sum(losses)", "def forward(k):"
BACK = "y.backward(gradient)"
MUTANTS = {
    (SHARE, ""): "every gradient is as many times too large as there are micro-batches: their "
    "losses were summed, and the batch's loss is their mean; divide each by micro_batches",
    (SHARE, f"{SHARE}**2"): "the loss was divided by micro_batches twice",
    (SHARE, " / 3"): "the loss of each micro-batch is divided by 3, the lesson's number",
    ((SHARE, ""), (SUM, "[p.grad.div_(micro_batches) for p in stage.parameters()]\n"
                        f"{SUM} / micro_batches")):
    "the gradients that were there before the call were divided too: divide the loss of each "
    "micro-batch, and leave p.grad to backward()",
    (FIRST, f"stage.zero_grad()\n{FIRST}"): "a second call without zero_grad() throws away the "
    "gradients of the first: backward() adds to p.grad, and gradient accumulation needs that",
    (BACK, f"stage.zero_grad()\n{BACK}"): "only the last micro-batch of each rank counts: "
    "zero_grad() stands inside the loop over the micro-batches",
    ("(y, parts[k]", "(y, parts[k - 1]"): "the loss of a micro-batch is computed with the ids of "
    "another one: both have the index k",
    ("append(y.detach())", "append(y.detach() * micro_batches)"): "the gradients are right, and "
    "the loss that the last rank returns is the sum over the micro-batches: return their mean",
    (SUM, "return losses[-1]"): "the gradients are right, and the last rank returns the loss of "
    "the last micro-batch alone: return the sum of all shares",
    ("\nfor k in range(micro_batches):\n    backward(k)", "\n    backward(k)"): "each micro-batch "
    "comes back before the next goes forward; all go forward first, then all backward",
    (('"F", stage=rank, micro_batch=k', '"F"'), ('"B", stage=rank, micro_batch=k', '"B"')):
    "put each pass into recorder.span(kind, stage=rank, micro_batch=k)",
}  # fmt: skip
explain, STOPPED, stuck = _stages.explain, _stages.STOPPED, _stages.stuck
