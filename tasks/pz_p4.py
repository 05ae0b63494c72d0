"""PZ-P4: your own strategy."""

from pathlib import Path

from helpers.grade import Submission, Task
from helpers.grade.task import load_module

pz = load_module(Path(__file__).with_name("_pz.py"), "lab_task_pz")

TASK = Task(
    id="PZ-P4",
    title="your own strategy: 80 % MFU or more in 60 GB, on 32 ranks",
    file="puzzles/part4.py",
    function="part4_training_loop",
    notebook="09",
    points=25,
    minutes=120,
    hints=(
        "Where does the time go? Open the trace of a simple data parallel step: how long does it "
        "compute, and what does it do besides? Which of these costs are paid for each layer, and "
        "which can be made smaller by cutting something into shards?",
        "With whole weights on every rank, only one collective a layer is left: the gradients. An "
        "update of a shard takes a fraction of the time; and weights may stay in shards at the "
        "end.",
        "Load each layer whole, and cut weight and optimizer state: weight.shard(rank, ranks), "
        "opt_state.shard(rank, ranks). Forward and backward on the rank's whole part of the "
        "batch; reduce_scatter of each gradient; update of the shard. With the profile honest, "
        "start the reduce_scatter without await, and await it after the next layer's backward.",
    ),
)

# 80 % MFU and 60e9 of memory are the full score; on other clusters it must be right.
CASES = (
    pz.Case(4, 6, 64, (8,), profile="classic"),
    pz.Case(2, 3, 8, (16,), profile="honest"),
    pz.Case(32, 16, 2048, (64,), profile="classic", time=0.0879609, memory=60e9),
    pz.Case(32, 64, 2048, (64,), profile="classic", time=0.3518437, memory=60e9),
)


def verify(submission: Submission) -> None:
    """Play what the step did again, and compare time and memory. Raises Mistake or WorkFailed."""
    pz.verify_cases(
        submission,
        TASK.function,
        CASES,
        slow="the MFU must be 80 % at least; look at the trace: what is not computing?",
        large="60e9 elements have full points: take smaller micro-batches, or shards",
    )
