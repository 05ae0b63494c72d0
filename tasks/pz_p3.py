"""PZ-P3: 1F1B."""

from helpers.grade import Task
from tasks import _pz

TASK = Task(
    title="1F1B: one forward and one backward in turn",
    file="puzzles/part3.py",
    function="part3_training_loop",
    lesson="training_puzzles",
    kind="prize",
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
observe = _pz.observing(TASK.function)
name = _pz.name
cases, enough = _pz.listed(
    {  # ranks, layers, samples, micro-batch: time and memory
        (16, 32, 2048, 128): (2.75, 2.4e10),
        (4, 8, 64, 4): (0.0194, 3.4e8),
        (3, 7, 40, 4): (0.0131, 3.0e8),
        (5, 3, 16, 2): (0.0037, 1.1e8),
        (1, 2, 8, 2): (0.00145, 1.7e8),
    }
)

explain = _pz.judge(
    enough,
    slow="send a micro-batch on, and take the next one before the first one comes back",
    large="after the warm-up each forward is followed by a backward, so rank r of p stages "
    "keeps at most p - r micro-batches",
)
