"""CP-1: merge what queries have found in two blocks of keys."""

from helpers.grade import Task

TASK = Task(
    id="CP-1",
    title="merge two partial results of a softmax",
    file="CP/ring/online.py",
    function="merge",
    notebook="13",
    points=10,
    minutes=10,
    hints=(
        "Both o and l are sums of exp(score - m), and each block has its own m. Before you can add "
        "two such sums, they need the same m. Which one, so that no exp can overflow?",
        "The common m is the larger of the two. A sum taken with m1 is multiplied by exp(m1 - m). "
        "And where both m are -inf? shift(m) is there for that.",
        "m = torch.maximum(one.m, other.m); a = (one.m - shift(m)).exp(), b the same of other; "
        "Partial(a * one.o + b * other.o, m, a * one.l + b * other.l).",
    ),
)


def run(module, case):
    """What the work merges, and its two arguments afterwards.

    case: two partial results, each (o, m, l).
    """
    given = [module.Partial(*(tensor.clone() for tensor in one)) for one in case["two"]]
    found = module.merge(*given)
    if not isinstance(found, tuple) or len(found) != 3:
        return {"no Partial": type(found).__name__}
    named = dict(zip("oml", found, strict=True))
    return {**named, "the arguments": [list(one) for one in given]}
