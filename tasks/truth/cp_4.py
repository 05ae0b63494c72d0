"""CP-4: gradients by autograd's rules, with one thing wrong for each mistake."""

import math

import torch


def cases(seed):
    """Two sizes, each with a causal mask and values of float64."""
    values = torch.Generator().manual_seed(seed)

    def case(length, width):
        sizes = (2, 3, length, width)
        q, k, v, gradient = (
            torch.randn(sizes, generator=values, dtype=torch.float64) for _ in range(4)
        )
        made = {"q": q, "k": k, "v": v, "gradient": gradient}
        made["mask"] = torch.ones(length, length, dtype=torch.bool).tril()
        p, log_sum = weights(made)
        product = (gradient * (p @ v)).sum(-1, keepdim=True)
        return {**made, "log_sum": log_sum, "product": product}

    return [case(6 + seed % 3, 4), case(10, 2 + seed % 5)]


def weights(case):
    q, k = case["q"], case["k"]
    s = (q @ k.mT / math.sqrt(q.shape[-1])).masked_fill(~case["mask"], -math.inf)
    log_sum = s.logsumexp(-1, keepdim=True)
    return (s - log_sum).exp(), log_sum


def truth(case, kept=None, products=5.0, wrong=""):
    """The truth; or with one thing wrong."""
    q, length, width = case["q"], case["q"].shape[-2], case["q"].shape[-1]
    whole = q.numel() * 4 + q.numel() // width
    square = q.numel() // width * length
    extra = {"scores": square, "attention": -q.numel(), "both": -q.numel() - q.numel() // width}
    return {
        "gradients": one_block(case, slice(0, None), wrong),
        "numbers kept": whole + extra.get(kept, 0),
        "products backward": products,
        "from half of the keys": one_block(case, slice(length // 2, None), wrong),
    }


def one_block(case, columns, wrong):
    q, gradient = case["q"], case["gradient"]
    k, v = case["k"][..., columns, :], case["v"][..., columns, :]
    s = q @ k.mT / math.sqrt(q.shape[-1])
    if wrong != "mask":
        s = s.masked_fill(~case["mask"][..., columns], -math.inf)
    log_sum = s.logsumexp(-1, keepdim=True) if wrong == "own sum" else case["log_sum"]
    p = (s - log_sum).exp()
    dp = gradient @ v.mT - (0 if wrong == "product" else case["product"])
    ds = dp if wrong == "p" else p * dp
    ds = ds if wrong == "scale" else ds / math.sqrt(q.shape[-1])
    dk, dv = ds.mT @ q, p.mT @ gradient
    if wrong == "swapped":
        dk, dv = dv, dk
    return {"q": ds @ k, "k": dk, "v": dv}


MISTAKES = {
    "the weights P are kept, which grow with the square of the sequence: keep q, k, v, the "
    "attention and log_sum": {"kept": "scores", "products": 4.0},
    "the attention is computed again too, which costs a sixth product: it's no larger than q, so "
    "keep it": {"kept": "attention", "products": 6.0},
    "the scores are computed twice: log_sum is small, so keep it, and the attention too": {
        "kept": "both",
        "products": 7.0,
    },
    "- product is missing: the weights of a query add up to 1, so a larger one makes all others "
    "smaller": {"wrong": "product"},
    "the gradients of q and k aren't divided by sqrt(d): the scores were": {"wrong": "scale"},
    "the mask is missing in the recomputed scores": {"wrong": "mask"},
    "one block is right and half of the keys is wrong: the softmax is over all blocks, so take "
    "log_sum and not the sum of this block": {"wrong": "own sum"},
    "dS isn't multiplied by P: dS = P * (dP - product)": {"wrong": "p"},
    "the gradients of k and v are swapped": {"wrong": "swapped"},
}
