"""LA-3: what an all-reduce costs, from where the ranks are."""

from helpers.grade import Task

TASK = Task(
    id="LA-3",
    title="say what an all-reduce costs over a slow cable",
    file="jobs/count_ranks.py",
    function="ring_seconds",
    notebook="18",
    points=15,
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


def run(module, case):
    """The seconds that the work says.

    case: what is looked at, the host of each rank, bytes, and of the link inside a host and of the
    cable: megabits per second, milliseconds.
    """
    from helpers.network import Link

    _, hosts, size, inside, between = case
    return module.ring_seconds(list(hosts), size, Link(*inside), Link(*between))
