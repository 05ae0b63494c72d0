"""DP-3: partition a data set."""

from helpers.grade import Task

TASK = Task(
    id="DP-3",
    title="partition a data set, and shuffle it alike on all ranks",
    file="DP/partition/partition.py",
    function="partition",
    also=("epoch_order",),
    notebook="04",
    points=10,
    minutes=20,
    ranks=4,
    hints=(
        "partition: where does the part of rank r end, and where does that of rank r + 1 begin? "
        "Try 10 items on 4 ranks on paper. epoch_order: what must all ranks have in common, so "
        "that their parts fit together?",
        "partition: there are two good ways. Blocks: rank r begins at length * r // world_size. "
        "Or every world_size-th item, like the stories of the lesson. epoch_order: "
        "random.Random(x) is a generator of its own, and the same x gives the same shuffle.",
        "partition: range(begin, end) or range(begin, length, step). epoch_order: make the list "
        "of all indices, shuffle it with a generator made from seed and epoch (never the rank), "
        "then give the entries that partition(length, rank, world_size) points at.",
    ),
)


def run(module, case):
    """On every rank: all parts of a data set, and this rank's order in each epoch, asked twice.

    case: {"length": items, "world": ranks that share them}, or with "seeds" and "epochs" in place
    of "world".
    """
    import torch.distributed as dist

    length = case["length"]
    if "world" in case:
        world = case["world"]
        return [_listed(module.partition, length, rank, world) for rank in range(world)]
    place = (length, dist.get_rank(), dist.get_world_size())
    return {
        seed: [
            [_listed(module.epoch_order, *place, seed, epoch) for _ in range(2)]
            for epoch in range(case["epochs"])
        ]
        for seed in case["seeds"]
    }


def _listed(function, *args):
    """The indices as a list; what went wrong as a text."""
    call = f"{function.__name__}({', '.join(map(str, args))})"
    try:
        found = function(*args)
    except NotImplementedError:
        raise
    except Exception as error:
        return f"{call} raises {type(error).__name__}: {error}"
    if found is None:
        return f"{call} returns None: is there a return?"
    try:
        return [int(index) for index in found]
    except (TypeError, ValueError):
        return f"{call} must return indices, not an object of the type {type(found).__name__}"
