"""EP-3: the balancing loss and the bias, and the ways to miss them."""

import torch

TOLERANCE = 1e-6  # a share of whole numbers is float32 unless somebody asks for more


def cases(seed):
    """Draw a batch of two choices a token, in which one expert has exactly the mean."""
    draw = torch.Generator().manual_seed(seed)
    mean = int(torch.randint(5, 12, (), generator=draw))
    less, more = (int(torch.randint(1, 4, (), generator=draw)) for _ in range(2))
    counts = torch.tensor([mean + less + more, mean - less, mean, mean - more])
    scores = torch.randn(2 * mean, 4, generator=draw, dtype=torch.float64)
    bias = torch.randn(4, generator=draw, dtype=torch.float64)
    return [
        {"probabilities": scores.softmax(-1), "counts": counts, "bias": bias, "rate": 0.01},
    ]


def even(p, counts):
    return len(counts) * (counts / counts.sum() * p.mean(0)).sum()


def toward(counts):
    return torch.sign(counts.double().mean() - counts)


def truth(case, loss=even, step=toward):
    """loss(probabilities, counts), step(counts): by which many rates the bias moves."""
    p = case["probabilities"].clone().requires_grad_()
    found = loss(p, case["counts"])
    if found.requires_grad:
        found.backward()
    return {
        "balance_loss": found.detach(),
        "the gradient of the probabilities": p.grad,
        "the bias after adjust_bias": case["bias"] + case["rate"] * step(case["counts"]),
    }


LOSSES = {
    "the loss lacks its factor, the number of experts: with even experts it must be 1": (
        lambda p, counts: (counts / counts.sum() * p.mean(0)).sum()
    ),
    "the loss uses the mean probability twice: one of the two factors is the share of the choices, "
    "which were really made": lambda p, counts: len(counts) * p.mean(0).square().sum(),
    "the loss counts the largest probability of each token in place of the choices given": (
        lambda p, counts: even(p, p.argmax(1).bincount(minlength=len(counts)))
    ),
    "the loss carries no gradient, so it changes nothing: don't detach the probabilities": (
        lambda p, counts: even(p.detach(), counts)
    ),
    "the shares add up to the choices of a token: divide by all choices, counts.sum(), and not by "
    "the tokens": lambda p, counts: len(counts) * (counts / len(p) * p.mean(0)).sum(),
    "the loss adds up the probabilities of all tokens where it needs their mean": (
        lambda p, counts: len(counts) * (counts / counts.sum() * p.sum(0)).sum()
    ),
}
STEPS = {
    "the bias moves the wrong way: an expert that had too much gets more": (
        lambda counts: -toward(counts)
    ),
    "the bias moves by the difference in counts: only its sign counts, so that a crowded expert "
    "isn't emptied at once": lambda counts: counts.double().mean() - counts,
    "the bias didn't change: write into it, in place": torch.zeros_like,
    "an expert that had exactly the mean moved too: it should stay": (
        lambda counts: torch.where(counts > counts.double().mean(), -1.0, 1.0).double()
    ),
    "the bias of all but the busiest expert goes up: compare with the mean, not with the largest": (
        lambda counts: torch.sign(counts.max() - counts).double()
    ),
}
MISTAKES = {
    **{words: {"loss": way} for words, way in LOSSES.items()},
    **{words: {"step": way} for words, way in STEPS.items()},
}
