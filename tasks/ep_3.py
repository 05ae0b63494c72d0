"""EP-3: two ways to keep the experts equally busy."""

from helpers.grade import Task

TASK = Task(
    id="EP-3",
    title="write the balancing loss, and the bias that needs no loss",
    file="EP/experts/balance.py",
    function="balance_loss",
    also=("adjust_bias",),
    notebook="14",
    points=10,
    minutes=15,
    hints=(
        "Try it with numbers: of two experts, one has all choices and all probability. Then the "
        "loss is 2, and it's 1 if each has half. For the bias, only the direction counts.",
        "counts / counts.sum() is the share of each expert, and probabilities.mean(0) is how much "
        "the router likes it. torch.sign is 1, 0 or -1; which difference is positive for an expert "
        "that had too little?",
        "len(counts) * (counts / counts.sum() * probabilities.mean(0)).sum(), and bias += rate * "
        "torch.sign(mean - counts) with counts as floating-point numbers.",
    ),
)


def run(module, case):
    """The loss, its gradient, and the bias after one change."""
    import torch

    probabilities = case["probabilities"].clone().requires_grad_()
    loss = module.balance_loss(probabilities, case["counts"].clone())
    if not isinstance(loss, torch.Tensor):
        loss = torch.tensor(loss)
    if loss.requires_grad and loss.dim() == 0:
        loss.backward()
    bias = case["bias"].clone()
    module.adjust_bias(bias, case["counts"].clone(), case["rate"])
    return {
        "balance_loss": loss.detach(),
        "the gradient of the probabilities": probabilities.grad,
        "the bias after adjust_bias": bias,
    }
