"""LA-3: a ring's steps, each as long as its slowest message; and what is left out of that."""

import random

from helpers.network import Link

TOLERANCE = 1e-6


def cases(seed):
    """(what is looked at, hosts, bytes, the link inside, the cable), of both the two numbers."""
    draw = random.Random(seed)
    size, slow = 1e6 * draw.randint(20, 90), draw.choice([100, 250, 500])
    inside, between = (slow * 80, 0.01), (slow, draw.choice([0.5, 2.0]))
    each = draw.randint(2, 4)
    return [
        ("two ranks on two hosts", ["a", "b"], size, inside, between),
        ("ranks side by side on two hosts", ["a"] * each + ["b"] * each, size, inside, between),
        ("ranks in turn on two hosts", ["a", "b"] * each, size, inside, between),
        ("three hosts, unequally", ["a"] * each + ["b", "a", "c"], size, inside, between),
        ("one host", ["a"] * (each + 1), size, inside, between),
        ("a cable that is faster", ["a", "a", "b"], size, between, inside),
        ("the last rank on the busiest host", ["b", "a", "c", "a"], size, inside, between),
    ]


def truth(
    case, steps=2, unit=1, whole=False, shared=True, delays=False, closed=True, pick=max, every=True
):
    """The truth; and what comes out with one of the known mistakes."""
    _, hosts, size, inside, between = case
    n, inside, between = len(hosts), Link(*inside), Link(*between)
    part = size if whole else size / n
    pairs = [(hosts[rank], hosts[(rank + 1) % n]) for rank in range(n if closed else n - 1)]
    out = [sum(a == host != b for a, b in pairs) for host in sorted(set(hosts))]
    times = [
        between.seconds(part * (count if shared else 1), count if delays else 1)
        for count in out
        if count
    ]
    if any(a == b for a, b in pairs) and (every or not times):
        times.append(inside.seconds(part))
    return unit * steps * (n - 1) * pick(times)


MISTAKES = {
    "a ring goes round twice: n - 1 steps to add up, and n - 1 to hand the sums round": {
        "steps": 1
    },
    "these are milliseconds": {"unit": 1000},
    "each message is one part of n, not all the bytes": {"whole": True},
    "the last rank sends to the first: the ring is closed": {"closed": False},
    "messages that leave one host in one step share its cable": {"shared": False},
    "messages that leave one host in one step are as one message: they pay the cable's "
    "latency once": {"delays": True},
    "a step ends when the slowest message has come: not the sum of all": {"pick": sum},
    "two ranks of one host need the link inside, and a step may wait for it": {"every": False},
    "a step ends when the slowest message has come, not the first": {"pick": min},
}


def name(case):
    return f"{case[0]} ({' '.join(case[1])})"


def explain(case, seen):
    if isinstance(seen, bool) or not isinstance(seen, int | float):
        return f"give a number of seconds, not {seen!r}"
    return f"{truth(case):.4g} s is right, not {seen:.4g} s"
