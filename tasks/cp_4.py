"""CP-4: attention's backward pass from recomputed scores, scored by what it keeps and computes."""

from helpers.grade import Task

TASK = Task(
    id="CP-4",
    title="compute the scores again instead of keeping them",
    file="CP/ring/online.py",
    function="block_gradients",
    also=("Recomputed.forward", "Recomputed.backward"),
    notebook="13",
    points=20,
    minutes=25,
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


def run(module, case):
    """The gradients of one device's attention, the numbers kept, the products of backward; and the
    gradients from the second half of the keys alone.

    case: q, k, v, mask, the gradient of the attention, and log_sum and product for the half.
    """
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    mask, gradient = case["mask"], case["gradient"]
    q, k, v = (case[name].clone().requires_grad_() for name in "qkv")
    attention = module.Recomputed.apply(q, k, v, lambda: mask)
    node = attention.grad_fn
    kept = [*node.saved_tensors, *vars(node).values()]
    kept = {t.data_ptr(): t.numel() for t in kept if isinstance(t, torch.Tensor)}
    with FlopCounterMode(display=False) as counter:
        found = torch.autograd.grad(attention, (q, k, v), gradient)
    one_product = 2 * mask.numel() * q.shape[-1] * q[..., 0, 0].numel()
    half = slice(k.shape[-2] // 2, None)
    some = k.detach()[..., half, :], v.detach()[..., half, :], mask[..., half]
    about = case["log_sum"], case["product"], gradient
    return {
        "gradients": dict(zip("qkv", found, strict=True)),
        "numbers kept": sum(kept.values()),
        # a sum over a row, written as an einsum, counts as a small part of a product
        "products backward": float(round(counter.get_total_flops() / one_product)),
        "from half of the keys": dict(
            zip("qkv", module.block_gradients(q.detach(), *some, *about), strict=True)
        ),
    }
