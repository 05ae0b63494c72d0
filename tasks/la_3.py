"""LA-3: what an all-reduce costs, from where the ranks are."""

import math
import random

from helpers.grade import Mistake, Submission, Task
from helpers.network import Link

TASK = Task(
    id="LA-3",
    title="say what an all-reduce costs over a slow cable",
    file="jobs/count_ranks.py",
    function="ring_seconds",
    notebook="15",
    points=15,
    minutes=30,
    hints=(
        "Draw four ranks in a ring, first side by side on two hosts, then in turn. How many "
        "messages leave each host in one step? Which message does a step wait for?",
        "First list the pairs: each rank with the next, the last with the first. Then the times of "
        "one step: a part over `inside` if any pair shares a host; and of each host the parts that "
        "leave it, together, over `between`.",
        "A part is 1/n of the bytes. Take the longest of those times, and multiply it by the "
        "2 (n - 1) steps. Some hosts may send nothing out; then only `inside` counts.",
    ),
)


def cases(seed):
    """(what is looked at, hosts, bytes, the link inside, the cable)."""
    draw = random.Random(seed)
    size, slow = 1e6 * draw.randint(20, 90), draw.choice([100, 250, 500])
    inside, between = Link(slow * 80, 0.01), Link(slow, draw.choice([0.5, 2.0]))
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


def seconds(
    hosts, size, inside, between, steps=2, part=None, shared=True, closed=True, pick=max, every=True
):
    """The truth; and what comes out with one of the known mistakes."""
    n = len(hosts)
    part = size / n if part is None else part
    nexts = [hosts[(rank + 1) % n] for rank in range(n if closed else n - 1)]
    pairs = list(zip(hosts, nexts, strict=False))
    out = [sum(a == host != b for a, b in pairs) for host in sorted(set(hosts))]
    times = [between.seconds(part * (count if shared else 1)) for count in out if count]
    if any(a == b for a, b in pairs) and (every or not times):
        times.append(inside.seconds(part))
    return steps * (n - 1) * pick(times)


KNOWN = {
    "a ring goes round twice: n - 1 steps to add up, and n - 1 to hand the sums round": {
        "steps": 1
    },
    "the last rank sends to the first: the ring is closed": {"closed": False},
    "messages that leave one host in one step share its cable": {"shared": False},
    "a step ends when the slowest message has come: not the sum of all": {"pick": sum},
    "two ranks of one host need the link inside, and a step may wait for it": {"every": False},
    "a step ends when the slowest message has come, not the first": {"pick": min},
}


def work(module, seed):
    """On one rank, beside the student's code: its answer for each case."""
    return [
        module.ring_seconds(list(hosts), size, inside, between)
        for _, hosts, size, inside, between in cases(seed)
    ]


def verify(submission: Submission) -> None:
    """Raises Mistake or WorkFailed."""
    (answers,) = submission.on_ranks(work, 1, submission.seed)
    for (name, *facts), given in zip(cases(submission.seed), answers, strict=True):
        judge(name, facts, given)


def judge(name, facts, given):
    """Raises Mistake, which names the mistake where it is a known one."""
    right = seconds(*facts)
    if isinstance(given, bool) or not isinstance(given, (int, float)):
        raise Mistake(f"{name}: give a number of seconds, not {given!r}")
    if math.isclose(given, right, rel_tol=1e-6):
        return
    where = f"{name} ({' '.join(facts[0])}): {right:.4g} s is right, not {given:.4g} s"
    if math.isclose(given, 1e3 * right, rel_tol=1e-6):
        raise Mistake(f"{where}; these are milliseconds")
    if math.isclose(given, seconds(*facts, part=facts[1]), rel_tol=1e-6):
        raise Mistake(f"{where}; each message is one part of n, not all the bytes")
    for sentence, mistake in KNOWN.items():
        if math.isclose(given, seconds(*facts, **mistake), rel_tol=1e-6):
            raise Mistake(f"{where}; {sentence}")
    raise Mistake(where)
