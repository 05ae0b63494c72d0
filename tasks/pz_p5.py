"""PZ-P5: the boss."""

from math import inf

from helpers.grade import Task
from tasks import _pz

TASK = Task(
    title="the boss: 109 billion parameters on 48 cards, 35 % MFU or more",
    file="puzzles/part5.py",
    function="part5_training_loop",
    lesson="training_puzzles",
    kind="prize",
    minutes=180,
    hints=(
        "Add up one card by hand. 16 bytes a parameter over 48 cards leave about 44 GB, and a "
        "layer's activation of one sample takes 0.86 GB. How many of the 60 can stay? An "
        "activation that you drop can be computed again from an earlier one: call forward again "
        "in the backward pass. A first version that fits, by ZeRO-3 over all ranks, reaches "
        "about 15 %.",
        "Weights that travel between nodes take 7.6 times as long as inside one. So let a node be "
        "one stage of a pipeline: its eight ranks share the stage's layers (load_weights("
        "layer, lane, 8), and collectives of model.group(the node's ranks)), and each sends its "
        "own samples to the same place of the next node, rank + 8. With 1F1B this fits if each "
        "stage keeps only its first activation of every micro-batch in flight: about 36 %.",
        "Write the order of forwards, repeated forwards and backwards down as a list first. Then "
        "the next entry's all_gather can start before this entry computes, a reduce_scatter can "
        "be awaited one backward later, and a send before the next send: about 50 %. Stage s of "
        "6 has 6 - s micro-batches in flight, so late stages have room to keep more activations "
        "and repeat less: about 55 %.",
    ),
    seconds=240,
)
observe = _pz.observing(TASK.function)
ENOUGH = {(48, 60, 192): (50.2946, inf)}  # by ranks, layers and samples; the card limits the memory
name = _pz.name


def cases(seed):
    return [
        _pz.case(16, 6, 16, 1, profile="measured"),
        _pz.case(48, 60, 192, 1, profile="measured"),
    ]


explain = _pz.judge(
    lambda *sizes: ENOUGH.get(sizes),
    slow="the MFU must be 35 % at least; look at the trace: what is not computing?",
    large="",
)
