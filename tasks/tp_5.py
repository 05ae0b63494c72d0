"""TP-5: the two operators of tensor parallelism, forward and backward."""

from helpers.grade import Task

TASK = Task(
    id="TP-5",
    title="write the two conjugate operators, Copy and Sum",
    file="TP/llama/intro_TP.py",
    function="Copy.forward",
    also=("Copy.backward", "Sum.forward", "Sum.backward"),
    notebook="12",
    points=15,
    minutes=20,
    ranks=3,
    hints=(
        "Forward is easy: which of the two sends something? For backward, say what each rank "
        "computes with the result. If every rank uses x for something else, which gradients of x "
        "are there, and what is the gradient of x?",
        "Copy: nothing forward, and backward the gradients of all ranks' uses are added up. Sum: "
        "the terms are added up forward; y = a + b has the gradient dy for a, and all ranks have "
        "the same dy.",
        "Copy: x.view_as(x) forward, and backward all_reduced of the gradient. Sum: all_reduced of "
        "x forward, and backward the gradient as it is.",
    ),
)


def run(module, case):
    """On every rank: what an operator returns forward, and the gradient of its input.

    case: "Copy" or "Sum"; for each rank its x and the gradient of the result.
    """
    import torch.distributed as dist

    rank = dist.get_rank()
    x, gradient = case["x"][rank].clone().requires_grad_(), case["gradient"][rank]
    y = getattr(module, case["operator"]).apply(x)
    found = {"forward": y.detach().clone()}
    (y * gradient).sum().backward()
    return {**found, "the gradient of x": x.grad, "x afterwards": x.detach()}
