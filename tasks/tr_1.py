"""TR-1: write the training loop."""

from helpers.grade import Task

TASK = Task(
    id="TR-1",
    title="write the training loop",
    file="primer/loop.py",
    function="train",
    notebook="01",
    points=10,
    minutes=20,
    hints=(
        "Begin with pieces = 1: for each batch, what are the three parts of a step, and which of "
        "them adds to what p.grad already holds?",
        "optimizer.zero_grad(), causalLLMLoss(…), loss.backward(), optimizer.step(), in this "
        "order, once for each batch. With pieces, only two of the four move into an inner loop. "
        "And a mean over the batch is the mean of its pieces' means: what must each piece's loss "
        "be divided by?",
        "For each batch: zero_grad(), and the batch's loss is 0.0. For each piece of "
        "batch.chunk(pieces): logits = model(piece); loss = causalLLMLoss(logits, piece, "
        "logits.shape[-1]) / pieces; loss.backward(); add loss.item(). After the pieces: step(), "
        "and append the batch's loss to the list that you return.",
    ),
)


def run(module, case):
    """Call the work on a small model; return its losses, and the weights after the last step.

    case: the weights by name, the gradients they hold before, the batches, the learning rate, and
    the number of pieces.
    """
    import torch

    model = Model(case["weights"])
    for name, parameter in model.named_parameters():
        parameter.grad = case["gradients"][name].clone()
    optimizer = torch.optim.SGD(model.parameters(), lr=case["lr"])
    batches = (batch.clone() for batch in case["batches"])
    losses = module.train(model, batches, optimizer, case["pieces"])
    if isinstance(losses, list | tuple):
        losses = [_plain(loss) for loss in losses]
    weights = {name: p.detach().clone() for name, p in model.named_parameters()}
    return {"weights": weights, "losses": losses, "forward passes": model.rows}


def _plain(loss):
    import torch

    return "a tensor" if isinstance(loss, torch.Tensor) else loss


def Model(weights):
    """Return a language model that is small enough for a check: it looks one token back.

    `rows` of it lists how many sequences each forward pass took.
    """
    import torch

    class Small(torch.nn.Module):
        def __init__(self):
            super().__init__()
            for name, weight in weights.items():
                self.register_parameter(name, torch.nn.Parameter(weight.clone()))
            self.rows = []

        def forward(self, ids):
            self.rows.append(len(ids))
            here = self.embedding[ids]
            before = torch.nn.functional.pad(here, (0, 0, 1, 0))[:, :-1]
            return torch.tanh(here + before @ self.mix) @ self.head

    return Small()
