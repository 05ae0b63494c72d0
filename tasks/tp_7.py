"""TP-7: the cross-entropy of logits that are cut along the vocabulary."""

from types import SimpleNamespace

from helpers.grade import Task

TASK = Task(
    id="TP-7",
    title="compute the loss without ever holding all logits",
    file="TP/llama/parallel_loss.py",
    function="parallel_cross_entropy",
    notebook="12",
    points=15,
    minutes=25,
    ranks=3,
    hints=(
        "The loss of a position is log(sum of exp(z)) - z[target]. Which of its pieces needs all "
        "ranks, and is each of them a maximum or a sum?",
        "Three all-reduces: the largest logit of each position (dist.ReduceOp.MAX, of "
        "logits.detach()); the sum of the exponentials, by Sum.apply; and the target's logit, by "
        "Sum.apply of what is zero on every rank but the one that has the target.",
        "mine = (targets >= first) & (targets < first + logits.shape[-1]); the own index is "
        "(targets - first).where(mine, 0); shifted.gather(-1, index[:, None])[:, 0], zero where "
        "not mine. Then (total.log() - target).mean().",
    ),
)


def run(module, case):
    """On every rank: the loss, and the gradient of the own logits; and how much was sent.

    case: the logits of all ranks, side by side; the targets.
    """
    import torch
    import torch.distributed as dist

    from helpers.parallel import reduce_from_group
    from tasks._sent import noting_what_leaves

    module.Sum = SimpleNamespace(apply=reduce_from_group)
    logits = case["logits"].chunk(dist.get_world_size(), -1)[dist.get_rank()].clone()
    logits.requires_grad_()
    with noting_what_leaves() as sent:
        loss = module.parallel_cross_entropy(
            logits, case["targets"].clone(), dist.get_rank() * logits.shape[-1]
        )
        if not isinstance(loss, torch.Tensor) or loss.dim():
            return {"no loss": repr(loss)[:60]}
        if loss.requires_grad:
            loss.backward()
    return {
        "loss": loss.detach(),
        "the gradient of the logits": logits.grad,
        "less was sent than the logits": sum(one["bytes"] for one in sent) < logits.nbytes,
    }
