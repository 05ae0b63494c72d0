"""CP-4: attention's backward pass from recomputed scores, scored by what it keeps and computes."""

import math

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

from helpers.grade import Task

TASK = Task(
    title="compute the scores again instead of keeping them",
    file="CP/ring/online.py",
    function="block_gradients",
    also=("Recomputed.forward", "Recomputed.backward"),
    lesson="long_context",
    minutes=40,
    hints=(
        "Backward needs P, the weights after the softmax. With log_sum, P comes back from q and k "
        "in one product, without a maximum and without a sum. So what has to be kept, and what "
        "doesn't?",
        "Keep q, k, v, the attention and log_sum. P = exp(scores(q, k, mask) - log_sum). product "
        "is (gradient * attention).sum(-1, keepdim=True). The docstring has the five products: "
        "scores, dV, dP, dQ, dK.",
        "weights = exp of scores(…) minus log_sum; slope = weights times (gradient @ v.mT minus "
        "product), divided by math.sqrt(q.shape[-1]). For q: slope @ k, for k: slope.mT @ q, for "
        "v: weights.mT @ gradient. Backward returns the three, and None for mask_of.",
    ),
)


class Products(TorchDispatchMode):
    """Add up the FLOPs of products. torch's FlopCounterMode would import its compiler first, which
    takes seconds."""

    flops = 0

    @classmethod
    def _should_skip_dynamo(cls):
        return False

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        found = func(*args, **(kwargs or {}))
        if count := flop_registry.get(func._overloadpacket):
            self.flops += count(*args, **(kwargs or {}), out_val=found)
        return found


def observe(module, case):
    """The gradients of one device's attention, the numbers kept, the products of backward; and the
    gradients from the second half of the keys alone.

    case: q, k, v, mask, the gradient of the attention, and log_sum and product for the half.
    """
    mask, gradient = case["mask"], case["gradient"]
    q, k, v = (case[name].clone().requires_grad_() for name in "qkv")
    attention = module.Recomputed.apply(q, k, v, lambda: mask)
    node = attention.grad_fn
    kept = [*node.saved_tensors, *vars(node).values()]
    kept = {t.data_ptr(): t.numel() for t in kept if isinstance(t, torch.Tensor)}
    with Products() as counted:
        # a sum, because to give autograd a gradient imports what takes seconds
        found = torch.autograd.grad((attention * gradient).sum(), (q, k, v))
    one_product = 2 * mask.numel() * q.shape[-1] * q[..., 0, 0].numel()
    half = slice(k.shape[-2] // 2, None)
    some = k.detach()[..., half, :], v.detach()[..., half, :], mask[..., half]
    about = case["log_sum"], case["product"], gradient
    return {
        "gradients": dict(zip("qkv", found, strict=True)),
        "numbers kept": sum(kept.values()),
        # a sum over a row, written as an einsum, counts as a small part of a product
        "products backward": float(round(counted.flops / one_product)),
        "from half of the keys": dict(
            zip("qkv", module.block_gradients(q.detach(), *some, *about), strict=True)
        ),
    }


def cases(seed):
    """Two sizes, each with a causal mask and values of float64."""
    values = torch.Generator().manual_seed(seed)

    def case(length, width):
        sizes = (2, 3, length, width)
        made = {
            name: torch.randn(sizes, generator=values, dtype=torch.float64)
            for name in ("q", "k", "v", "gradient")
        }
        made["mask"] = torch.ones(length, length, dtype=torch.bool).tril()
        s = made["q"] @ made["k"].mT / math.sqrt(width)
        s = s.masked_fill(~made["mask"], -math.inf)
        made["log_sum"] = s.logsumexp(-1, keepdim=True)
        made["product"] = (made["gradient"] * (s.softmax(-1) @ made["v"])).sum(-1, keepdim=True)
        return made

    return [case(6 + seed % 3, 4), case(10, 2 + seed % 5)]


P = "(scores(q, k, mask) - log_sum).exp()"
MUTANTS = {
    (" - product", ""): "- product is missing: the weights of a query add up to 1, so a larger one "
    "makes all others smaller",
    (" / math.sqrt(q.shape[-1])", ""): "the gradients of q and k aren't divided by sqrt(d): the "
    "scores were",
    ("scores(q, k, mask)", "scores(q, k, torch.ones_like(mask))"): "the mask is missing in the "
    "recomputed scores",
    (P, "scores(q, k, mask).softmax(-1)"): "one block is right and half of the keys is wrong: the "
    "softmax is over all blocks, so take log_sum and not the sum of this block",
    ("ds = p *", "ds ="): "dS isn't multiplied by P: dS = P * (dP - product)",
    ("ds.mT @ q, p.mT @ gradient", "p.mT @ gradient, ds.mT @ q"): "the gradients of k and v are "
    "swapped",
}


def explain(case, seen):
    enough = sum(case[name].numel() for name in ("q", "k", "v", "gradient", "log_sum"))
    kept, products = seen["numbers kept"], round(seen["products backward"])
    if kept > enough:
        return (
            f"{kept} numbers are kept, and {enough} are enough: what has the shape of the scores, "
            "such as the weights P, grows with the square of the sequence; keep q, k, v, the "
            "attention and log_sum"
        )
    if products > 5:
        return (
            f"backward computes {products} products, and 5 are enough: the attention and log_sum "
            "are no larger than q, so keep them and compute neither again"
        )
