"""PP-4: interleaved 1F1B, several stages on each rank."""

from helpers.grade import Task

TASK = Task(
    id="PP-4",
    title="order the actions of interleaved 1F1B",
    file="PP/schedules/orders.py",
    function="interleaved",
    notebook="07",
    points=20,
    minutes=35,
    hints=(
        "Write down the order of forwards for 2 ranks, 4 micro-batches and 2 chunks: it is the "
        "same on every rank, only the numbers of the stages differ. Then that of the backwards.",
        "One list of (chunk, micro-batch) serves both: for each round, for each chunk, for each "
        "micro-batch of the round. Backward takes the chunks from the last to the first. Then "
        "only the mixing is left: some forwards first, then pairs, then the backwards that are "
        "left.",
        "For each rank: down = its forwards, up = its backwards, in the order of that list, each "
        "with chunks * micro_batches entries. Take the first `ahead` of down; then, for each n, "
        "down[ahead + n] if there is one, and up[n]. `ahead` stands in the docstring; it is never "
        "more than chunks * micro_batches.",
    ),
)


def run(module, case):
    """case: (ranks, micro-batches, chunks). The order of each rank, as text."""
    return [list(map(str, row)) for row in module.interleaved(*case)]
