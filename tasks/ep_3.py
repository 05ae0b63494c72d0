"""EP-3: write the balancing loss, and the bias that needs no loss."""

import torch

HINTS = (
    "Try it with numbers: of two experts, one has all choices and all probability. Then the loss "
    "is 2, and it's 1 if each has half. For the bias, only the direction counts.",
    "len(counts) * (counts / counts.sum() * probabilities.mean(0)).sum(), and bias += rate * "
    "torch.sign(mean - counts) with counts as floating-point numbers.",
)
LESSON, MINUTES = "experts", 20
TOLERANCE = 1e-6  # a share of whole numbers is float32 unless somebody asks for more


def observe(module, case):
    probabilities = case["probabilities"].clone().requires_grad_()
    loss = torch.as_tensor(module.balance_loss(probabilities, case["counts"].clone()))
    if loss.requires_grad and loss.dim() == 0:
        loss.backward()
    bias = case["bias"].clone()
    module.adjust_bias(bias, case["counts"].clone(), case["rate"])
    return {
        "balance_loss": loss.detach(),
        "the gradient of the probabilities": probabilities.grad,
        "the bias after adjust_bias": bias,
    }


def cases():
    """Draw a batch of two choices a token, in which one expert has exactly the mean."""
    mean = int(torch.randint(5, 12, ()))
    less, more = (int(torch.randint(1, 4, ())) for _ in range(2))
    counts = torch.tensor([mean + less + more, mean - less, mean, mean - more])
    scores = torch.randn(2 * mean, 4, dtype=torch.float64)
    bias = torch.randn(4, dtype=torch.float64)
    return [{"probabilities": scores.softmax(-1), "counts": counts, "bias": bias, "rate": 0.01}]


SHARE, MEAN = "share = counts / counts.sum()", "probabilities.mean(0)"
SIGN, LARGEST = "torch.sign(counts.mean() - counts)", "probabilities.argmax(1)"
MUTANTS = {
    ("len(counts) * ", ""): "the loss lacks its factor, the number of experts: with even experts "
    "it must be 1",
    ("share.to(probabilities.dtype)", MEAN): "the loss uses the mean probability twice: one of "
    "the two factors is the share of the choices, which were really made",
    (SHARE, f"counts = {LARGEST}.bincount(minlength=len(counts))\n{SHARE}"): "the loss counts the "
    "largest probability of each token in place of the choices given",
    (MEAN, "probabilities.detach().mean(0)"): "the loss carries no gradient, so it changes "
    "nothing: don't detach the probabilities",
    (SHARE, "share = counts / len(probabilities)"): "the shares add up to the choices of a token: "
    "divide by all choices, counts.sum(), and not by the tokens",
    (MEAN, "probabilities.sum(0)"): "the loss adds up the probabilities of all tokens where it "
    "needs their mean",
    ("counts.mean() - counts", "counts - counts.mean()"): "the bias moves the wrong way: an "
    "expert that had too much gets more",
    ("torch.sign", ""): "the bias moves by the difference in counts: only its sign counts, so "
    "that a crowded expert isn't emptied at once",
    ("bias +=", "bias = bias +"): "the bias didn't change: write into it, in place",
    (SIGN, "torch.where(counts > counts.mean(), -1.0, 1.0)"): "an expert that had exactly the "
    "mean moved too: it should stay",
    ("counts.mean()", "counts.max()"): "the bias of all but the busiest expert goes up: compare "
    "with the mean, not the largest",
}
