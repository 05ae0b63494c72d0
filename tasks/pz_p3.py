"""PZ-P3: 1F1B."""

from pathlib import Path

from helpers.grade import Submission, Task
from helpers.grade.task import load_module

pz = load_module(Path(__file__).with_name("_pz.py"), "lab_task_pz")

TASK = Task(
    id="PZ-P3",
    title="1F1B: one forward and one backward in turn",
    file="puzzles/part3.py",
    function="part3_training_loop",
    notebook="09",
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

CASES = (
    pz.Case(16, 32, 2048, (128,), profile="classic", time=2.75, memory=2.4e10),
    pz.Case(4, 8, 64, (4,), profile="classic", time=0.0194, memory=3.4e8),
    pz.Case(3, 7, 40, (4,), profile="classic", time=0.0131, memory=3.0e8),
    pz.Case(5, 3, 16, (2,), profile="classic", time=0.0037, memory=1.1e8),
    pz.Case(1, 2, 8, (2,), profile="classic", time=0.00145, memory=1.7e8),
)


def verify(submission: Submission) -> None:
    """Play what the step did again, and compare time and memory. Raises Mistake or WorkFailed."""
    pz.verify_cases(
        submission,
        TASK.function,
        CASES,
        slow="send a micro-batch on, and take the next one before the first one comes back",
        large="after the warm-up each forward is followed by a backward, so rank r of p stages "
        "keeps at most p - r micro-batches",
    )
