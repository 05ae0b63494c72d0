"""LA-2: count the ranks of a machine from the names of the hosts alone."""

from helpers.grade import Task

TASK = Task(
    id="LA-2",
    title="count ranks from host names alone",
    file="jobs/count_ranks.py",
    function="from_hosts",
    notebook="18",
    points=10,
    minutes=20,
    hints=(
        "Write down the hosts of six ranks, dealt out to two machines like cards. Which ranks are "
        "on the machine of rank 4, and which of them come before it?",
        "The local rank is how many ranks before this one are on the same host; the local size is "
        "how many there are on it in all. Machines are numbered in the order in which their names "
        "first appear in the list.",
        "dict.fromkeys(names) keeps the first of each name, in order; list.index finds a place. "
        "Look at the ranks before `rank` only, and count those with its host.",
    ),
)


def run(module, case):
    """What the work says of every rank.

    case: how the ranks are spread, and the host of each.
    """
    _, hosts = case
    return [module.from_hosts(list(hosts), rank) for rank in range(len(hosts))]
