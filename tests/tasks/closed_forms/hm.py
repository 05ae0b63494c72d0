"""Hiding messages: whole products, and layers on one device."""

import torch


def products(case):
    ranks = len(case["gathered"])
    everything = torch.cat(case["gathered"])
    total = sum(y @ w for y, w in zip(case["scattered"], case["weights"], strict=True))
    return [
        {
            "gathered": everything @ case["weights"][rank],
            "products beside each message, gathered": [1] * (ranks - 1),
            "products, gathered": ranks,
            "scattered": total.chunk(ranks)[rank],
            "products beside each message, scattered": [1] * (ranks - 1),
            "products, scattered": ranks,
        }
        for rank in range(ranks)
    ]


def on_one_device(case):
    attention = [w.clone().requires_grad_() for w in case["attention"]]
    experts = [[w.clone().requires_grad_() for w in layer] for layer in case["experts"]]
    xs = [each["x"].clone().requires_grad_() for each in case["ranks"]]
    ids = [each["ids"] % len(xs) for each in case["ranks"]]
    for x, to, each in zip(xs, ids, case["ranks"], strict=True):
        y = x
        for a, e in zip(attention, experts, strict=True):
            y = y + (y @ a).tanh()
            y = y + torch.stack([(row @ e[k]).tanh() for row, k in zip(y, to, strict=True)])
        y.backward(each["gradient"])
    order = ["compute a", "send a", "compute b", "send b"]
    for _ in range(case["pieces"] - 2):
        order += ["wait a", "compute a", "send a", "wait b", "compute b", "send b"]
    order += ["wait a", "compute a", "wait b", "compute b"]
    own = [own_attention(case, rank) for rank in range(len(xs))]
    return [
        {
            "the order of in_turn": order,
            "pieces left": 0,
            "seconds of the pieces": [0.0, *[0.5, 1.0] * 2],
            "the gradient of x": x.grad,
            "of the attention": own[rank],
            "of the experts": [layer[rank].grad for layer in experts],
        }
        for rank, x in enumerate(xs)
    ]


def own_attention(case, rank):
    """The gradients of the attention from one rank's tokens alone."""
    attention = [w.clone().requires_grad_() for w in case["attention"]]
    y, to = case["ranks"][rank]["x"], case["ranks"][rank]["ids"] % len(case["ranks"])
    for a, e in zip(attention, case["experts"], strict=True):
        y = y + (y @ a).tanh()
        y = y + torch.stack([(row @ e[k]).tanh() for row, k in zip(y, to, strict=True)])
    y.backward(case["ranks"][rank]["gradient"])
    return [a.grad for a in attention]


CLOSED_FORMS = {"HM-1": products, "HM-3": on_one_device}
