"""PZ-P3: 1F1B."""

from helpers.grade import Task
from tasks import _pz

TASK = Task(
    id="PZ-P3",
    title="1F1B: one forward and one backward in turn",
    file="puzzles/part3.py",
    function="part3_training_loop",
    notebook="16",
    points=25,
    minutes=60,
    hints=(
        "GPipe keeps every micro-batch until all have gone forward. When could rank r do its "
        "first backward? How many micro-batches has it taken forward by then?",
        "Write forward(number) and backward(number). Rank r of p stages does p - r - 1 "
        "forwards first; then, as long as there are micro-batches, one forward and one "
        "backward; then the backwards that are left.",
        "warm_up = min(stages - rank - 1, len(batches)). for number in range(len(batches) + "
        "warm_up): forward(number) if number < len(batches); backward(number - warm_up) if "
        "number >= warm_up. Then update.",
    ),
)
run = _pz.run_of(TASK.function)
