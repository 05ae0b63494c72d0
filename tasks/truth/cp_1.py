"""CP-1: two partial results merged, with float64's own words for what was not seen or overflows."""

import torch

INF = float("inf")


def cases(seed):
    """Ordinary scores; scores around 1000, where exp overflows; queries that see no key."""
    values = torch.Generator().manual_seed(seed)
    rows, width = 5 + seed % 3, 2 + seed % 4

    def partial(around, unseen=()):
        m = around + 6 * torch.randn(2, rows, 1, generator=values, dtype=torch.float64)
        l = 1 + torch.rand(2, rows, 1, generator=values, dtype=torch.float64)  # noqa: E741
        o = torch.randn(2, rows, width, generator=values, dtype=torch.float64)
        for row in unseen:
            m[:, row], l[:, row], o[:, row] = -INF, 0.0, 0.0
        return o, m, l

    return [
        {"name": "", "two": [partial(0), partial(0)]},
        {"name": "scores around 1000", "two": [partial(1000), partial(0)]},
        {"name": "queries that saw no key", "two": [partial(0, (0, 2)), partial(0, (0, 3))]},
    ]


def name(case):
    return case["name"]


def truth(case, common=torch.maximum, scale_o=True, scale_l=True, safe=True, sign=1):
    """The right result; or with one thing wrong."""
    (o1, m1, l1), (o2, m2, l2) = case["two"]
    m = common(m1, m2)
    zero = m.masked_fill(m == -INF, 0.0) if safe else m
    a, b = (sign * (m1 - zero)).exp(), (sign * (m2 - zero)).exp()
    c, d = (a, b) if scale_o else (1, 1)
    e, f = (a, b) if scale_l else (1, 1)
    found = {"o": c * o1 + d * o2, "m": m, "l": e * l1 + f * l2}
    return {**found, "the arguments": [list(one) for one in case["two"]]}


MISTAKES = {
    "o is added up as it is: each was summed with an m of its own, so scale both to the common m": {
        "scale_o": False
    },
    "l is added up as it is: each was summed with an m of its own, so scale both to the common m": {
        "scale_l": False
    },
    "nothing is scaled: each sum was taken with an m of its own": {
        "scale_o": False,
        "scale_l": False,
    },
    "the factors are the wrong way round: a sum taken with m1 is multiplied by exp(m1 - m)": {
        "sign": -1
    },
    "m is that of the first block, and it must be the larger of the two, or exp overflows": {
        "common": lambda one, other: one
    },
    "m is the smaller of the two, so exp overflows: take the larger": {"common": torch.minimum},
    "a query that has seen no key in either block becomes not-a-number: -inf minus -inf; use "
    "shift(m)": {"safe": False},
}


def explain(case, seen):
    if "no Partial" in seen:
        return f"merge() must return a Partial, and returns {seen['no Partial']!r}"
    return None
