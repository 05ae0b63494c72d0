"""LA-2: the place of a rank among the names of the hosts, by its definition."""

import random

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


def places(hosts, change=lambda rank, size, facts: facts, order=lambda hosts: hosts):
    """Of each rank the four facts; change: what a mistake makes of them."""
    machines = list(dict.fromkeys(order(hosts)))
    found = []
    for rank, host in enumerate(hosts):
        size = hosts.count(host)
        facts = [hosts[:rank].count(host), size, machines.index(host), len(machines)]
        found.append(change(rank, size, facts))
    return found


def truth(case):
    return places(case[1])


MISTAKES = {
    "rank % local size is the local rank only where the ranks of a machine stand side by side: "
    "count the ranks before this one that have its host": lambda case: places(
        case[1], lambda rank, size, f: [rank % size, *f[1:]]
    ),
    "a local rank counts itself too: the first rank of each machine has 0": lambda case: places(
        case[1], lambda rank, size, f: [f[0] + 1, *f[1:]]
    ),
    "the machine of rank r is r // local size only where all ranks stand side by side, equally "
    "many: look for the place of its name in the list of names": lambda case: places(
        case[1], lambda rank, size, f: [*f[:2], rank // size, f[3]]
    ),
    "machines are numbered in the order of their names, and not of their first ranks": (
        lambda case: places(case[1], order=sorted)
    ),
}


def name(case):
    return f"ranks {case[0]}"


def explain(case, seen):
    """Which of the four facts is wrong, and where."""
    hosts = case[1]
    for rank, (given, right) in enumerate(zip(seen, truth(case), strict=True)):
        if not isinstance(given, tuple | list) or len(given) != len(FACTS):
            return f"give four numbers: {', '.join(FACTS)}; not {given!r}"
        for fact, mine, its in zip(FACTS, given, right, strict=True):
            if mine != its:
                return (
                    f"the {fact} of rank {rank} is {its}, not {mine!r}; the hosts of the ranks are "
                    f"{' '.join(hosts)}"
                )
    return None
