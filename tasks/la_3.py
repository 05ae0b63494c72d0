"""LA-3: what an all-reduce costs, from where the ranks are."""

import random

from helpers.grade import Task
from helpers.network import Link

TASK = Task(
    title="say what an all-reduce costs over a slow cable",
    file="jobs/count_ranks.py",
    function="ring_seconds",
    lesson="beyond_one_machine",
    minutes=30,
    hints=(
        "Draw four ranks in a ring, first side by side on two hosts, then in turn. How many "
        "messages leave each host in one step? Which message does a step wait for?",
        "First list the pairs: each rank with the next, the last with the first. Then the times of "
        "one step: one part over `inside`, if any pair shares a host; and for each host, all the "
        "parts that leave it, as one message over `between`.",
        "A part is 1/n of the bytes. Take the longest of those times, and multiply it by the "
        "2 (n - 1) steps. If no part leaves any host, only `inside` counts.",
    ),
)

TOLERANCE = 1e-6


def observe(module, case):
    """The seconds that the work says.

    case: what is looked at, the host of each rank, bytes, and of the link inside a host and of the
    cable: megabits per second, milliseconds.
    """
    _, hosts, size, inside, between = case
    return {"seconds": module.ring_seconds(list(hosts), size, Link(*inside), Link(*between))}


def cases(seed):
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


def name(case):
    return f"{case[0]} ({' '.join(case[1])})"


MUTANTS = {
    ("2 * (ranks", "(ranks"): "a ring goes round twice: n - 1 steps to add up, and n - 1 to hand "
    "the sums round",
    ("max(times)", "max(times) * 1000"): "these are milliseconds",
    ("size / ranks", "size"): "each message is one part of n, not all the bytes",
    ("enumerate(hosts)", "enumerate(hosts[:-1])"): "the last rank sends to the first: the ring is "
    "closed",
    (" * leaving.count(host)", ""): "messages that leave one host in one step share its cable",
    ("leaving.count(host))", "leaving.count(host), leaving.count(host))"): "messages that leave "
    "one host in one step are as one message: they pay the cable's latency once",
    (
        ("for host in leaving", "for host in set(leaving)"),
        ("max(times)", "sum(times)"),
    ): "a step ends when the slowest message has come: not the sum of all",
    ("any(here == there for here, there in hops)", "not times"): "two ranks of one host need the "
    "link inside, and a step may wait for it",
    ("max(times)", "min(times)"): "a step ends when the slowest message has come, not the first",
}


def explain(case, seen):
    if not isinstance(seen["seconds"], int | float):
        return f"give a number of seconds, not {seen['seconds']!r}"
    return None
