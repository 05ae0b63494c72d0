"""TR-1: the steps of gradient descent; and where one part of the loop is missing or misplaced."""

import torch

from helpers.grade.verify import common_factor, same
from simplellm.losses import causalLLMLoss
from tasks.tr_1 import Model

STEPS = 3
TOLERANCE = 1e-6  # losses may be added up in float32


def cases(seed):
    """One piece for each batch, then several; the parameters hold old gradients before."""
    draw = torch.Generator().manual_seed(seed)
    width, vocabulary = 4 + seed % 3, 11 + seed % 5

    def some(*shape):
        return 0.6 * torch.randn(shape, generator=draw, dtype=torch.float64)

    shapes = {
        "embedding": (vocabulary, width),
        "mix": (width, width),
        "head": (width, vocabulary),
    }
    weights = {name: some(*shape) for name, shape in shapes.items()}
    gradients = {name: some(*shape) for name, shape in shapes.items()}
    found = []
    for pieces, rows in ((1, 2), (3, 6)):
        batches = [
            torch.randint(vocabulary, (rows, 5 + seed % 4), generator=draw) for _ in range(STEPS)
        ]
        case = {"weights": weights, "gradients": gradients, "batches": batches}
        found.append(case | {"lr": 0.5, "pieces": pieces})
    return found


def name(case):
    return f"{case['pieces']} piece{'s' * (case['pieces'] > 1)} a batch"


def truth(
    case,
    zero="batch",
    step="batch",
    divide=True,
    counts="sum",
    first_only=False,
    one_batch=False,
    early=False,
    ascent=False,
):
    """What right work leaves behind. The keywords are the parts that can go wrong."""
    model = Model(case["weights"])
    parameters = list(model.parameters())
    gradients = [case["gradients"][n].clone() for n, _ in model.named_parameters()]
    pieces, losses = case["pieces"], []

    def update():
        with torch.no_grad():
            for parameter, gradient in zip(parameters, gradients, strict=True):
                parameter += (1 if ascent else -1) * case["lr"] * gradient

    for number, batch in enumerate(case["batches"]):
        batch = case["batches"][0] if one_batch else batch
        if early:
            update()
        if zero == "batch" or (zero == "first" and number == 0):
            gradients = [torch.zeros_like(p) for p in parameters]
        of_pieces = []
        for piece in batch.chunk(pieces)[: 1 if first_only else None]:
            if zero == "piece":
                gradients = [torch.zeros_like(p) for p in parameters]
            logits = model(piece)
            loss = causalLLMLoss(logits, piece, logits.shape[-1])
            new = torch.autograd.grad(loss / pieces if divide else loss, parameters)
            gradients = [g + n for g, n in zip(gradients, new, strict=True)]
            of_pieces.append(loss.item())
            if step == "piece":
                update()
        if step == "batch" and not early:
            update()
        scale = {"sum": 1 / pieces, "total": 1, "last": 1 / pieces}[counts]
        losses.append(scale * (of_pieces[-1] if counts == "last" else sum(of_pieces)))
    weights = {n: p.detach().clone() for n, p in model.named_parameters()}
    return {"weights": weights, "losses": losses, "forward passes": model.rows}


MISTAKES = {
    "the gradients of earlier steps are still in p.grad when a step is made: backward() adds to "
    "it, so every batch begins with optimizer.zero_grad()": {"zero": "never"},
    "zero_grad() is called once, before the first batch: backward() adds to p.grad, so every "
    "batch begins with it": {"zero": "first"},
    "zero_grad() is called for each piece, so that only the last piece of a batch counts: clear "
    "the gradients once a batch": {"zero": "piece"},
    "the optimizer makes a step after each piece: gradient accumulation makes one step a batch, "
    "when all its pieces have added their gradients": {"step": "piece"},
    "the optimizer makes a step after each piece, with that piece's gradient alone: this trains "
    "on smaller batches. Clear the gradients once a batch, and make one step a batch": {
        "step": "piece",
        "zero": "piece",
    },
    "the optimizer never makes a step, so no weight has changed: is there an optimizer.step()?": {
        "step": "never"
    },
    "the losses of the pieces were summed, and the batch's loss is their mean: divide each "
    "piece's loss by pieces before backward()": {"divide": False},
    "the losses of the pieces were summed, in the gradient and in what train() returns: divide "
    "each piece's loss by pieces": {"divide": False, "counts": "total"},
    "the weights are right, and the loss of a batch is returned as the sum over its pieces: the "
    "batch's loss is their mean": {"counts": "total"},
    "the weights are right, and the loss that is returned counts only the last piece of a batch": {
        "counts": "last"
    },
    "only the first piece of each batch is used": {"first_only": True},
    "every step uses the first batch": {"one_batch": True},
    "the step is made before backward(), with the gradients of the batch before": {"early": True},
    "the step goes uphill: the loss falls along minus the gradient": {"ascent": True},
}


def explain(case, seen):
    """What the facts say, where it is none of the known mistakes."""
    right, losses = truth(case), seen["losses"]
    if losses is None:
        return "train() returns None: return the list of losses, one number a batch"
    if not isinstance(losses, list | tuple):
        return f"train() returns {losses!r}: return a list of losses, one number a batch"
    if "a tensor" in losses:
        return (
            "the losses are tensors, each of which keeps the graph of its forward pass alive: "
            "return numbers, loss.item()"
        )
    rows, expected = seen["forward passes"], right["forward passes"]
    if rows != expected:
        return (
            f"the forward passes took {_listed(rows)} sequences: with {case['pieces']} equal "
            f"pieces a batch they take {_listed(expected)}"
        )
    if len(losses) != len(right["losses"]):
        return f"{len(losses)} losses came back for {STEPS} batches: return one loss a batch"
    if same(right["weights"], seen["weights"]):
        factor = common_factor(right["losses"], losses)
        times = f": every one is {factor:.4g} times what it should be" if factor else ""
        return f"the weights are right, and the losses that train() returns are not{times}"
    if same(right["losses"][:1], losses[:1]):
        return (
            "the loss of the first batch is right, and the weights after its step are not: look "
            "at what stands between backward() and the next batch"
        )
    return None


def _listed(rows):
    return ", ".join(map(str, rows)) or "no"
