"""TP-5: write the two conjugate operators, Copy and Sum."""

import torch
import torch.distributed as dist

from tasks._sent import noting_what_leaves

HINTS = (
    "Forward is easy: which of the two sends something? For backward, say what each rank computes "
    "with the result. If every rank uses x for something else, which gradients of x are there, "
    "and what is the gradient of x?",
    "Copy: x.view_as(x) forward, and backward all_reduced of the gradient. Sum: all_reduced of x "
    "forward, and backward the gradient as it is.",
)
NAME = "{operator}"
LESSON, MINUTES, RANKS = "tensor_parallel", 15, 3


def observe(module, case):
    rank = dist.get_rank()
    x, gradient = case["x"][rank].clone().requires_grad_(), case["gradient"][rank]
    with noting_what_leaves() as forward:
        y = getattr(module, case["operator"]).apply(x)
    found = {"forward": y.detach().clone()}
    with noting_what_leaves() as backward:
        (y * gradient).sum().backward()
    return {
        **found,
        "the gradient of x": x.grad,
        "x afterwards": x.detach(),
        "sent forward": bool(forward),
        "sent backward": bool(backward),
    }


def cases():
    """For Copy: equal inputs, other gradients. For Sum: other inputs, equal gradients."""
    rows, width = (int(torch.randint(2, 6, ())) for _ in range(2))

    def some(count):
        return [torch.randint(-9, 10, (rows, width)).double() for _ in range(count)]

    return [
        {"operator": "Copy", "x": some(1) * RANKS, "gradient": some(RANKS)},
        {"operator": "Sum", "x": some(RANKS), "gradient": some(1) * RANKS},
    ]


COPY, COPY_BACK = "return x.view_as(x)", "return all_reduced(gradient)"
SUM, SUM_BACK = "return all_reduced(x)", "return gradient "
MUTANTS = {
    (COPY_BACK, SUM_BACK): "the gradient of x is this rank's own: every rank used x for something "
    "else, so their gradients must be added up",
    (COPY, SUM): "forward adds up what is equal on all ranks already",
    ((COPY, SUM), (COPY_BACK, SUM_BACK)): "it is the wrong way round: forward adds up, and "
    "backward doesn't",
    (SUM, COPY): "the result is this rank's own term: the others are missing",
    # As in microsoft/ltp-megatron-lm#68: torch.distributed.nn.all_reduce adds up gradients too.
    (SUM_BACK, f"{COPY_BACK} "): f"the gradient is {RANKS} times too large: all ranks have "
    "the whole gradient already",
    ((SUM, COPY), (SUM_BACK, f"{COPY_BACK} ")): "it is the wrong way round: backward adds up, and "
    "forward doesn't",
    (SUM, f"dist.all_reduce(x)\n{COPY}"): "the sum is written into x: all_reduced() makes a new "
    "tensor",
    (SUM_BACK, f"{COPY_BACK} / {RANKS} "): "the gradient is right, and was sent for nothing: "
    "all ranks have the whole gradient already",
}
