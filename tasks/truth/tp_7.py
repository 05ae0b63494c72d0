"""TP-7: the loss and its gradient on one device; and what comes out where a rank is left out."""

import torch

RANKS = 3


def cases(seed):
    """Draw logits of which some are so large that exp overflows, and targets on all ranks."""
    draw = torch.Generator().manual_seed(seed)
    each = int(torch.randint(60, 70, (), generator=draw))  # far more than numbers for a position
    positions = 7
    logits = 3 * torch.randn(positions, RANKS * each, generator=draw, dtype=torch.float64)
    targets = torch.randint(RANKS * each, (positions,), generator=draw)
    targets[:RANKS] = torch.arange(RANKS) * each  # the first token of each rank
    return [
        {"logits": logits, "targets": targets},
        {"logits": logits + 800, "targets": targets},
    ]


def name(case):
    return "logits around 800" if case["logits"].mean() > 400 else ""


def truth(case, pieces="all", mean=True):
    """What each rank has. pieces: "all", or which stay this rank's own."""
    found = []
    for rank in range(RANKS):
        whole = case["logits"].clone().requires_grad_()
        each = whole.shape[-1] // RANKS
        own = whole[:, rank * each : (rank + 1) * each]
        total = (whole if pieces in ("all", "own target") else own).logsumexp(-1)
        target = whole.gather(-1, case["targets"][:, None])[:, 0]
        if pieces in ("own target", "own"):
            mine = case["targets"] // each == rank
            target = target * mine + whole.detach().amax(-1) * ~mine  # shifted, that is zero
        losses = total - target
        loss = losses.mean() if mean else losses.sum()
        (gradient,) = torch.autograd.grad(loss, whole)
        found.append(
            {
                "loss": loss.detach(),
                "the gradient of the logits": gradient[:, rank * each : (rank + 1) * each],
                "less was sent than the logits": True,
            }
        )
    return found


def gathered(case):
    """The right numbers, by sending whole logits."""
    return [{**rank, "less was sent than the logits": False} for rank in truth(case)]


MISTAKES = {
    "the sum of the exponentials is this rank's own: the other ranks have tokens too": {
        "pieces": "own sum"
    },
    "the target's logit is missing where another rank has it: add it up over the ranks": {
        "pieces": "own target"
    },
    "nothing is added up over the ranks, neither the exponentials nor the target's logit: both "
    "need Sum": {"pieces": "own"},
    "the loss is the sum over the positions: take the mean": {"mean": False},
    "the loss is right, but as much was sent as all logits: a few numbers for each position are "
    "enough, its largest logit and two sums": gathered,
}


def explain(case, seen):
    """What the facts say, where it is none of the known mistakes."""
    for rank, one in enumerate(seen):
        if one.get("less was sent than the logits") is False:
            return (
                f"rank {rank} has sent as much as all its logits: a few numbers for each position "
                "are enough, its largest logit and two sums"
            )
    return None
