"""PZ-P4: your own strategy."""

from helpers.grade import Task
from tasks import _pz

TASK = Task(
    id="PZ-P4",
    title="your own strategy: 80 % MFU or more in 60 GB, on 32 ranks",
    file="puzzles/part4.py",
    function="part4_training_loop",
    notebook="16",
    points=25,
    minutes=120,
    hints=(
        "Where does the time go? Open the trace of a simple data parallel step: how long does it "
        "compute, and what else does it do? Which of these costs are paid for each layer, and "
        "which can be made smaller by cutting something into shards?",
        "With whole weights on every rank, only one collective per layer is left, for the "
        "gradients. The update of a shard takes a fraction of the time, and at the end the "
        "weights may stay in shards.",
        "Load each layer whole, and cut weight and optimizer state: weight.shard(rank, ranks), "
        "opt_state.shard(rank, ranks). Forward and backward on the rank's whole part of the "
        "batch; reduce_scatter of each gradient; update of the shard. With the profile bytes, "
        "start the reduce_scatter without await, and await it after the next layer's backward.",
    ),
)
run = _pz.run_of(TASK.function)
