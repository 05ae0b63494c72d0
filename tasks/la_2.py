"""LA-2: count the ranks of a machine from the names of the hosts alone."""

import random

from helpers.grade import Mistake, Submission, Task

TASK = Task(
    id="LA-2",
    title="count ranks from host names alone",
    file="jobs/count_ranks.py",
    function="from_hosts",
    notebook="15",
    points=10,
    minutes=20,
    hints=(
        "Write down the hosts of six ranks, dealt out to two machines like cards. Which ranks are "
        "on the machine of rank 4, and which of them come before it?",
        "The local rank is how many ranks before this one are on the same host; the local size is "
        "how many are there at all. Machines have numbers in the order in which their names come "
        "first in the list.",
        "dict.fromkeys(names) keeps the first of each name, in order; list.index finds a place. "
        "Look at the ranks before `rank` only, and count those with its host.",
    ),
)
FACTS = ("local rank", "local size", "machine", "number of machines")


def cases(seed):
    """(how the ranks are spread, hosts)."""
    draw = random.Random(seed)
    names = draw.sample(["zeus", "x1", "node2", "alpha", "gpu-9"], 3)
    each = draw.randint(2, 4)
    uneven = [names[0]] * each + [names[1]] + [names[2]] * (each + 2)
    mixed = names + draw.choices(names, k=2 * each)
    return [
        ("side by side", [name for name in names for _ in range(each)]),
        ("in turn, like cards", names * each),
        ("in unequal numbers", uneven),
        ("in any order", mixed),
        ("all on one machine", [names[0]] * each),
    ]


def truth(hosts, rank):
    """By its definition, rank by rank."""
    machines, locals_ = [], []
    for host in hosts:
        if host not in machines:
            machines.append(host)
    for other, host in enumerate(hosts):
        if host == hosts[rank]:
            locals_.append(other)
    return locals_.index(rank), len(locals_), machines.index(hosts[rank]), len(machines)


def work(module, seed):
    """On one rank, beside the student's code: its answer for every rank of every case."""
    return [
        [module.from_hosts(list(hosts), rank) for rank in range(len(hosts))]
        for _, hosts in cases(seed)
    ]


def verify(submission: Submission) -> None:
    """Raises Mistake or WorkFailed."""
    (answers,) = submission.on_ranks(work, 1, submission.seed)
    for (spread, hosts), ranks in zip(cases(submission.seed), answers, strict=True):
        for rank, given in enumerate(ranks):
            judge(spread, hosts, rank, given)


def judge(spread, hosts, rank, given):
    """Raises Mistake, which says what of the four is wrong, and where."""
    if not isinstance(given, (tuple, list)) or len(given) != 4:
        raise Mistake(f"give four numbers: {', '.join(FACTS)}; not {given!r}")
    for fact, mine, right in zip(FACTS, given, truth(hosts, rank), strict=True):
        if mine != right:
            raise Mistake(
                f"ranks {spread}: the {fact} of rank {rank} is {right}, not {mine!r}; the hosts of "
                f"the ranks are {' '.join(hosts)}"
            )
