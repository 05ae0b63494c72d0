"""TP-7: compute the loss without ever holding all logits."""

from types import SimpleNamespace

import torch
import torch.distributed as dist

from helpers.parallel import reduce_from_group
from tasks._sent import noting_what_leaves

HINTS = (
    "The loss of a position is log(sum of exp(z)) - z[target]. Which of its pieces needs all "
    "ranks, and is each of them a maximum or a sum?",
    "All-reduce the largest logit of each position (dist.ReduceOp.MAX, of logits.detach()); "
    "Sum.apply the sum of the exponentials, and the target's logit: shifted.gather(-1, index[:, "
    "None])[:, 0], zero where first <= targets < first + logits.shape[-1] isn't true, with index "
    "= targets - first there and 0 elsewhere. Then (total.log() - target).mean().",
)
LESSON, MINUTES, RANKS = "tensor_parallel", 30, 3
LESS = "less was sent than the logits"


def observe(module, case):
    module.Sum = SimpleNamespace(apply=reduce_from_group)
    rank = dist.get_rank()
    logits = case["logits"].chunk(dist.get_world_size(), -1)[rank].clone().requires_grad_()
    first = rank * logits.shape[-1]
    with noting_what_leaves() as sent:
        loss = module.parallel_cross_entropy(logits, case["targets"].clone(), first)
        if not isinstance(loss, torch.Tensor) or loss.dim():
            its = getattr(loss, "shape", type(loss).__name__)
            return f"the loss must be a tensor with one number, and is: {its}"
        if loss.requires_grad:
            loss.backward()
    return {
        "loss": loss.detach(),
        "the gradient of the logits": logits.grad,
        LESS: sum(one["bytes"] for one in sent) < logits.nbytes,
    }


def cases():
    """Draw logits of which some are so large that exp overflows, and targets on all ranks."""
    each = int(torch.randint(60, 70, ()))  # far more than numbers for a position
    positions, ranks = 7, RANKS
    logits = 3 * torch.randn(positions, ranks * each, dtype=torch.float64)
    targets = torch.randint(ranks * each, (positions,))
    targets[:ranks] = torch.arange(ranks) * each  # the first token of each rank
    large = {"name": "logits around 800", "logits": logits + 800, "targets": targets}
    return [{"logits": logits, "targets": targets}, large]


TOTAL, TARGET = "shifted.exp().sum(-1)", "torch.where(mine, own, torch.zeros_like(own))"
MUTANTS = {
    (f"Sum.apply({TOTAL})", TOTAL): "the sum of the exponentials is this rank's own: the other "
    "ranks have tokens too",
    (f"Sum.apply({TARGET})", TARGET): "the target's logit is missing where another rank has it: "
    "add it up over the ranks",
    ((f"Sum.apply({TOTAL})", TOTAL), (f"Sum.apply({TARGET})", TARGET)): "nothing is added up over "
    "the ranks, neither the exponentials nor the target's logit: both need Sum",
    ("dist.all_reduce(largest, op=dist.ReduceOp.MAX)", "pass"): "each rank shifts by the largest "
    "of its own logits, so their exponentials can't be added up: take the largest of all ranks",
    ("logits - largest[:, None]", "logits"): "exp overflows: subtract the largest logit of all "
    "ranks first",
    (".mean()", ".sum()"): "the loss is the sum over the positions: take the mean",
}


def explain(case, seen):
    for rank, one in enumerate(seen):
        if isinstance(one, dict) and not one[LESS]:
            return (
                f"rank {rank} has sent as much as all its logits: a few numbers for each position "
                "are enough, its largest logit and two sums"
            )
