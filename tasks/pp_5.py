"""PP-5: a schedule of one's own within a memory limit, scored against a search."""

from helpers.grade import Task

TASK = Task(
    id="PP-5",
    title="write a schedule of your own that is fast in little memory",
    file="PP/schedules/orders.py",
    function="within_memory",
    notebook="07",
    points=30,
    minutes=60,
    hints=(
        "Do not think of a pattern. Think of one rank at one second: what can it do now, and which "
        "of it does another rank wait for?",
        "Count, for each stage, how many F, I and W are done. Go from second to second. What was "
        "done before this second began is ready now. A rank keeps done F - done W micro-batches.",
        "In each second, for each stage: I if its gradient has come (on the last stage if F is "
        "done); else F if its input has come and there is room; else W if one is left; else "
        "nothing. Look at counts that were copied when the second began.",
    ),
)


def run(module, case):
    """case: many (ranks, micro-batches, room). For each the order of every rank, as text."""
    return [[list(map(str, row)) for row in module.within_memory(*one)] for one in case]
