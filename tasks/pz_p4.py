"""PZ-P4: your own strategy."""

from helpers.grade import Task
from tasks import _pz

TASK = Task(
    title="your own strategy: 80 % MFU or more on 32 ranks",
    file="puzzles/part4.py",
    function="part4_training_loop",
    lesson="training_puzzles",
    kind="prize",
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
observe = _pz.observing(TASK.function)
ENOUGH = {  # by ranks, layers and samples
    (32, 16, 2048): (0.0879609, 60e9),
    (32, 64, 2048): (0.3518437, 60e9),
}
name = _pz.name


def cases(seed):
    return [
        _pz.case(4, 6, 64, 8, profile="classic"),
        _pz.case(2, 3, 8, 16, profile="bytes"),
        _pz.case(32, 16, 2048, 64, profile="classic"),
        _pz.case(32, 64, 2048, 64, profile="classic"),
    ]


explain = _pz.judge(
    lambda *sizes: ENOUGH.get(sizes),
    slow="the MFU must be 80 % at least; look at the trace: what is not computing?",
    large="60e9 elements have full points: take smaller micro-batches, or shards",
)
