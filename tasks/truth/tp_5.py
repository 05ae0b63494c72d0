"""TP-5: what each of the two operators does forward and backward, and what comes out otherwise."""

import torch

RANKS = 3


def cases(seed):
    """For Copy: equal inputs, other gradients. For Sum: other inputs, equal gradients."""
    draw = torch.Generator().manual_seed(seed)
    rows, width = (int(torch.randint(2, 6, (), generator=draw)) for _ in range(2))

    def some(count):
        return [torch.randint(-9, 10, (rows, width), generator=draw).double() for _ in range(count)]

    return [
        {"operator": "Copy", "x": some(1) * RANKS, "gradient": some(RANKS)},
        {"operator": "Sum", "x": some(RANKS), "gradient": some(1) * RANKS},
    ]


def name(case):
    return case["operator"]


def truth(case, forward=None, backward=None, own=False):
    """What each rank has. forward, backward: whether the terms are added up there."""
    forward = case["operator"] == "Sum" if forward is None else forward
    backward = case["operator"] == "Copy" if backward is None else backward
    ys = [sum(case["x"])] * RANKS if forward else case["x"]
    gradients = [sum(case["gradient"])] * RANKS if backward else case["gradient"]
    kept = ys if own else case["x"]
    return [
        {"forward": y, "the gradient of x": gradient, "x afterwards": x}
        for y, gradient, x in zip(ys, gradients, kept, strict=True)
    ]


def only(operator, **how):
    """A mistake in one operator: the other one is right."""
    return lambda case: truth(case, **how) if case["operator"] == operator else truth(case)


MISTAKES = {
    "the gradient of x is this rank's own: every rank used x for something else, so their "
    "gradients must be added up": only("Copy", backward=False),
    "forward adds up what is equal on all ranks already": only("Copy", forward=True),
    "it is the wrong way round: forward adds up, and backward doesn't": only(
        "Copy", forward=True, backward=False
    ),
    "the result is this rank's own term: the others are missing": only("Sum", forward=False),
    f"the gradient is {RANKS} times too large: all ranks have the whole gradient already": only(
        "Sum", backward=True
    ),
    "it is the wrong way round: backward adds up, and forward doesn't": only(
        "Sum", forward=False, backward=True
    ),
    "the sum is written into x: all_reduced() makes a new tensor": only("Sum", own=True),
}
