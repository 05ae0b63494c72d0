"""CP-1: merge two partial results of a softmax."""

import random

import torch

HINTS = (
    "Both o and l are sums of exp(score - m), and each block has its own m. Before you can add "
    "two such sums, they need the same m. Which one, so that no exp can overflow? And where both "
    "m are -inf? shift(m) is there for that.",
    "m = torch.maximum(one.m, other.m); a = (one.m - shift(m)).exp(), b the same of other; "
    "Partial(a * one.o + b * other.o, m, a * one.l + b * other.l).",
)
LESSON, MINUTES = "long_context", 15


def observe(module, case):
    given = [module.Partial(*(tensor.clone() for tensor in one)) for one in case["two"]]
    found = module.merge(*given)
    if not isinstance(found, tuple) or len(found) != 3:
        return f"merge() must return a Partial, and returns {type(found).__name__}"
    return dict(zip("oml", found, strict=True)) | {"the arguments": [list(one) for one in given]}


def cases():
    """Two partial results, (o, m, l) each; around 1000 exp overflows."""
    rows, width = random.randint(5, 7), random.randint(2, 5)

    def partial(around, unseen=()):
        m = around + 6 * torch.randn(2, rows, 1, dtype=torch.float64)
        l = 1 + torch.rand(2, rows, 1, dtype=torch.float64)  # noqa: E741
        o = torch.randn(2, rows, width, dtype=torch.float64)
        for row in unseen:
            m[:, row], l[:, row], o[:, row] = -torch.inf, 0.0, 0.0
        return o, m, l

    return [
        {"name": "", "two": [partial(0), partial(0)]},
        {"name": "scores around 1000", "two": [partial(1000), partial(0)]},
        {"name": "queries that saw no key", "two": [partial(0, (0, 2)), partial(0, (0, 3))]},
    ]


OF_O = ("a * one.o + b * other.o", "one.o + other.o")
OF_L = ("a * one.l + b * other.l", "one.l + other.l")
FACTORS = "(one.m - shift(m)).exp(), (other.m - shift(m)).exp()"
AS_IT_IS = (
    "is added up as it is: each was summed with an m of its own, so scale both to the common m"
)
MUTANTS = {
    OF_O: f"o {AS_IT_IS}",
    OF_L: f"l {AS_IT_IS}",
    (OF_O, OF_L): "nothing is scaled: each sum was taken with an m of its own",
    (FACTORS, "(shift(m) - one.m).exp(), (shift(m) - other.m).exp()"): "the factors are the wrong "
    "way round: a sum taken with m1 is multiplied by exp(m1 - m)",
    ("torch.maximum(one.m, other.m)", "one.m"): "m is that of the first block, and it must be the "
    "larger of the two, or exp overflows",
    ("torch.maximum", "torch.minimum"): "m is the smaller of the two, so exp overflows: take the "
    "larger",
    (FACTORS, "(one.m - m).exp(), (other.m - m).exp()"): "a query that has seen no key in either "
    "block becomes not-a-number: -inf minus -inf; use shift(m)",
}
