"""TR-1: write the training loop."""

import random

import torch

HINTS = (
    "For each batch zero_grad(), the loss, backward(), step(): which of them adds to what p.grad "
    "already holds? With pieces, two of the four move into an inner loop. And a mean over the "
    "batch is the mean of its pieces' means: what must each loss be divided by?",
    "For each batch: zero_grad(), and the batch's loss is 0.0. For each piece of "
    "batch.chunk(pieces): logits = model(piece); loss = causalLLMLoss(logits, piece, "
    "logits.shape[-1]) / pieces; loss.backward(); add loss.item(). After the pieces: step(), and "
    "append the batch's loss to the list that you return.",
)
NAME = "pieces={pieces}"
LESSON, MINUTES = "one_device", 20


class Model(torch.nn.Module):
    """A small language model: it looks one token back. rows: of each forward pass."""

    def __init__(self, weights):
        super().__init__()
        for name, weight in weights.items():
            self.register_parameter(name, torch.nn.Parameter(weight.clone()))
        self.rows = []

    def forward(self, ids):
        self.rows.append(len(ids))
        here = self.embedding[ids]
        before = torch.nn.functional.pad(here, (0, 0, 1, 0))[:, :-1]
        return torch.tanh(here + before @ self.mix) @ self.head


def observe(module, case):
    model = Model(case["weights"])
    for name, parameter in model.named_parameters():
        parameter.grad = case["gradients"][name].clone()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    batches = (batch.clone() for batch in case["batches"])
    losses = module.train(model, batches, optimizer, case["pieces"])
    if isinstance(losses, list | tuple):
        losses = ["a tensor" if isinstance(loss, torch.Tensor) else loss for loss in losses]
    return {
        "losses": losses,
        "sequences in each forward pass": ", ".join(map(str, model.rows)),
        "weights": {name: p.detach().clone() for name, p in model.named_parameters()},
    }


TOLERANCE = 1e-6  # losses may be added up in float32


def cases():
    """One piece for each batch, then several; the parameters hold old gradients before."""
    width, vocabulary = random.randint(4, 6), random.randint(11, 15)
    shapes = {"embedding": (vocabulary, width), "mix": (width, width), "head": (width, vocabulary)}
    weights, gradients = (
        {n: 0.6 * torch.randn(s, dtype=torch.float64) for n, s in shapes.items()} for _ in range(2)
    )
    return [
        {
            "weights": weights,
            "gradients": gradients,
            "batches": list(torch.randint(vocabulary, (3, rows, random.randint(5, 8)))),
            "pieces": pieces,
        }
        for pieces, rows in ((1, 2), (3, 6))
    ]


ZERO, STEP, COUNT = "optimizer.zero_grad()", "optimizer.step()", "of_batch += loss.item()"
NO_STEP = (f"    {STEP}\n    losses", "    losses")
ZERO_EACH = (ZERO, "pass"), ("logits = model(piece)", f"{ZERO}\nlogits = model(piece)")
STEP_EACH = NO_STEP, (COUNT, f"{COUNT}\n{STEP}")
MUTANTS = {
    (ZERO, "pass"): "the gradients of earlier steps are still in p.grad when a step is made: "
    "backward() adds to it, so every batch begins with optimizer.zero_grad()",
    (f"for batch in batches:\n    {ZERO}", f"{ZERO}\nfor batch in batches:"): "zero_grad() is "
    "called once, before the first batch: backward() adds to p.grad, so every batch begins with it",
    ZERO_EACH: "zero_grad() is called for each piece, so that only the last piece of a batch "
    "counts: clear the gradients once a batch",
    STEP_EACH: "the optimizer makes a step after each piece: gradient accumulation makes one step "
    "a batch, when all its pieces have added their gradients",
    ZERO_EACH + STEP_EACH: "the optimizer makes a step after each piece, with that piece's "
    "gradient alone: clear the gradients once a batch, and make one step a batch",
    (STEP, "pass"): "the optimizer never makes a step, so no weight has changed: is there an "
    "optimizer.step()?",
    # transformers and other trainers, until October 2024, with pieces of unequal lengths
    ((" / pieces", ""), (COUNT, f"{COUNT} / pieces")): "the losses of the pieces were summed, and "
    "the batch's loss is their mean: divide each piece's loss by pieces before backward()",
    (" / pieces", ""): "the losses of the pieces were summed, in the gradient and in what train() "
    "returns: divide each piece's loss by pieces",
    (COUNT, f"{COUNT} * pieces"): "the weights are right, and the loss of a batch is returned as "
    "the sum over its pieces: the batch's loss is their mean",
    (COUNT, "of_batch = loss.item()"): "the weights are right, and the loss that is returned "
    "counts only the last piece of a batch",
    ("chunk(pieces)", "chunk(pieces)[:1]"): "only the first piece of each batch is used",
    (("batch.chunk(pieces)", "[batch]"), (" / pieces", "")): "each batch goes through the model in "
    "one piece: cut it with batch.chunk(pieces)",
    ("in batches:", "in (every := [*batches]):\n    batch = every[0]"): "every step uses the first "
    "batch",
    (NO_STEP, (ZERO, f"{STEP}\n{ZERO}")): "the step is made before backward(), with the gradients "
    "of the batch before",
    ("loss.backward()", "(-loss).backward()"): "the step goes uphill: the loss falls along minus "
    "the gradient",
    ("return losses", ""): "train() returns None: return the list of losses, one number a batch",
    (COUNT, "of_batch += loss"): "the losses are tensors, each of which keeps the graph of its "
    "forward pass alive: return numbers, loss.item()",
}
