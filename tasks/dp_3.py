"""DP-3: partition a data set. Many partitions and shuffles are right, so rules judge them."""

import random

import torch.distributed as dist

from helpers.grade import Task

TASK = Task(
    title="partition a data set, and shuffle it alike on all ranks",
    file="DP/partition/partition.py",
    function="partition",
    also=("epoch_order",),
    lesson="data_parallel_weights",
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


def observe(module, case):
    """On every rank: all parts of a data set, and this rank's order in each epoch, asked twice.

    case: {"length": items, "world": ranks that share them}, or with "seeds" and "epochs" in place
    of "world".
    """
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


def cases(seed):
    """Lengths and world sizes, drawn and at the edge; then orders of two data sets."""
    draw = random.Random(seed)
    worlds = [2, 3, 4, 5, 7]
    drawn = [(draw.randint(20, 90), world) for world in worlds]
    uneven = [(world * draw.randint(2, 9) + world - 1, world) for world in worlds]
    parts = [(8, 1), (12, 4), *uneven, *drawn, (4, 4), (3, 4), (1, 5), (0, 3)]
    lengths = (4 * draw.randint(10, 17) + 2, TASK.ranks - 1)
    seeds = [one := draw.randrange(10**6), one + 1000]
    return [{"length": length, "world": world} for length, world in parts] + [
        {"length": length, "seeds": seeds, "epochs": 3} for length in lengths
    ]


def explain(case, seen):
    """Return the first rule that the observation breaks; None where it keeps them all."""
    if "seeds" in case:
        return _orders(case, seen)
    length, world = case["length"], case["world"]
    if said := _parts(length, world, seen[0]):
        return said
    if any(other != seen[0] for other in seen):
        return (
            f"partition returns other parts on another rank, for length {length} and world_size "
            f"{world}: it must depend on its arguments alone"
        )
    return None


def _parts(length, world, parts):
    here = f"for length {length} and world_size {world}"
    for part in parts:
        if isinstance(part, str):
            return part + ("; with fewer items than ranks some parts are empty" * (length < world))
    outside = [(rank, i) for rank, part in enumerate(parts) for i in part if not 0 <= i < length]
    if outside:
        rank, index = outside[0]
        last = f"they go from 0 to {length - 1}" if length else "an empty data set has none"
        return f"rank {rank} reads the index {index} {here}, and {last}"
    everything = list(range(length))
    if world > 1 and length and all(sorted(part) == everything for part in parts):
        return f"every rank reads the whole data set {here}: the parts must not share an item"
    if world > 1 and length > 1 and any(sorted(part) == everything for part in parts):
        return f"one rank reads everything {here}, and the others nothing: share it out"
    readers = {i: [rank for rank, part in enumerate(parts) if i in part] for i in everything}
    for index, ranks in readers.items():
        if len(ranks) > 1:
            return (
                f"the parts overlap {here}: the index {index} is read by the ranks "
                f"{', '.join(map(str, ranks))}"
            )
    if missing := [i for i in everything if not readers[i]]:
        return _missing(length, world, missing)
    sizes = [len(part) for part in parts]
    if sum(sizes) > length:
        return f"a rank reads the same index more than once {here}: the sizes are {sizes}"
    if max(sizes) - min(sizes) > 1:
        return (
            f"the sizes of the parts are {sizes} {here}, and may differ by at most one: share the "
            "remainder out, do not give it to one rank"
        )
    return None


def _missing(length, world, missing):
    rest = length % world
    if rest and missing == list(range(length - rest, length)):
        return (
            f"the remainder is dropped: {length} items on {world} ranks leave {rest} over, and "
            f"nobody reads the index {missing[0]}{' and those after it' if rest > 1 else ''}"
        )
    where = f"for length {length} and world_size {world}"
    return f"nobody reads the index {missing[0]} {where} ({len(missing)} of {length} are lost)"


def _orders(case, seen):
    """seen: for each rank {seed: for each epoch [the order, the order asked again]}."""
    length, seeds = case["length"], case["seeds"]
    for orders in seen:
        for first, again in [pair for seed in seeds for pair in orders[seed]]:
            if isinstance(first, str):
                return first
            if first != again:
                return (
                    "epoch_order returns two orders for the same arguments: shuffle with a "
                    "generator of its own, made from seed and epoch, in each call"
                )
    one, other = (
        [[orders[seed][epoch][0] for orders in seen] for epoch in range(case["epochs"])]
        for seed in seeds
    )
    for epochs in (one, other):
        for epoch, parts in enumerate(epochs):
            if said := _shared(length, epoch, parts):
                return said
    if length < 2 * TASK.ranks:
        return None  # so few items may come in the same order twice
    if all(part == sorted(part) for parts in one for part in parts):
        return (
            "every rank reads its items in rising order: nothing is shuffled, or a sort has undone "
            "the shuffle"
        )
    if one[0] == one[1] or one[1] == one[2]:
        return (
            "two epochs have the same order: make the generator from seed and epoch, not from the "
            "seed alone"
        )
    if all(sorted(a) == sorted(b) for a, b in zip(*one[:2], strict=True)):
        return (
            "each rank reads the same items in every epoch: each has shuffled its own part; "
            "shuffle the whole data set first, and then partition it"
        )
    if any(a == b for a, b in zip(one, other, strict=True)):
        return (
            "another seed gives the same order: make the generator from seed and epoch, not from "
            "the epoch alone"
        )
    return None


def _shared(length, epoch, parts):
    """What is wrong where the ranks' orders of one epoch are not one permutation, shared out."""
    everything, read = list(range(length)), sorted(index for part in parts for index in part)
    if read == everything:
        sizes = [len(part) for part in parts]
        if max(sizes) - min(sizes) > 1:
            return (
                f"in epoch {epoch} the ranks read {sizes} of {length} items: take the part that "
                "partition gives"
            )
        return None
    if all(sorted(part) == everything for part in parts):
        return (
            f"in epoch {epoch} every rank reads all {length} items: after the shuffle, take the "
            "part that partition gives"
        )
    if any(not 0 <= index < length for index in read):
        return f"epoch_order gives an index outside of 0 to {length - 1}"
    if len(read) != length:
        return (
            f"in epoch {epoch} the ranks read {len(read)} items together, and there are {length}: "
            "shuffle the list of all indices, and take the part that partition gives"
        )
    lost = next(index for index in everything if index not in read)
    twice = next(index for index in read if read.count(index) > 1)
    return (
        f"the ranks do not share one permutation: in epoch {epoch} of {length} items nobody reads "
        f"the index {lost}, and {twice} is read {read.count(twice)} times: make the generator "
        "from seed and epoch, never from the rank"
    )
