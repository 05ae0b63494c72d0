"""DP-3: partition a data set, and shuffle it alike on all ranks.

Many partitions and shuffles are right, so rules judge them.
"""

import random

import torch.distributed as dist

HINTS = (
    "partition: where does the part of rank r end, and where does that of rank r + 1 begin? Try "
    "10 items on 4 ranks on paper. epoch_order: what must all ranks have in common, so that their "
    "parts fit together?",
    "partition: a range that begins at length * rank // world_size, or one with the step "
    "world_size. epoch_order: shuffle the list of all indices with random.Random(…), made of seed "
    "and epoch (never the rank); then give the entries that partition points at.",
)
LESSON, MINUTES, RANKS = "data_parallel_weights", 20, 4


def observe(module, case):
    """All parts of a data set; or this rank's order in each epoch of each seed, asked twice."""
    length = case["length"]
    if "world" in case:
        ranks = range(case["world"])
        return [listed(module.partition, length, rank, case["world"]) for rank in ranks]
    order = (module.epoch_order, length, dist.get_rank(), dist.get_world_size())
    return [
        [[listed(*order, seed, epoch) for _ in range(2)] for epoch in range(case["epochs"])]
        for seed in case["seeds"]
    ]


def listed(function, *args):
    """The indices as a list; what went wrong as a text."""
    call = f"{function.__name__}({', '.join(map(str, args))})"
    try:
        found = function(*args)
        return [int(index) for index in found]
    except NotImplementedError:
        raise
    except TypeError:
        return f"{call} must return indices, and returns {found!r:.40}"
    except Exception as error:
        return f"{call} raises {type(error).__name__}: {error}"


def cases():
    """Lengths and world sizes, drawn and at the edge; then orders of two data sets."""
    worlds = [2, 3, 4, 5, 7]
    uneven = [(world * random.randint(2, 9) + world - 1, world) for world in worlds]
    drawn = [(random.randint(20, 90), world) for world in worlds]
    parts = [(8, 1), (12, 4), *uneven, *drawn, (4, 4), (3, 4), (1, 5), (0, 3)]
    seeds = [one := random.randrange(10**6), one + 1000]
    return [{"length": length, "world": world} for length, world in parts] + [
        {"length": length, "seeds": seeds, "epochs": 3}
        for length in (4 * random.randint(10, 17) + 2, RANKS - 1)
    ]


def explain(case, seen):
    if "seeds" in case:
        return wrong_orders(case["length"], seen)
    if sentence := wrong_parts(case["length"], case["world"], seen[0]):
        return sentence
    if any(other != seen[0] for other in seen):
        return "partition returns other parts on another rank: it depends on its arguments alone"


def wrong_parts(length, world, parts):
    for part in parts:
        if isinstance(part, str):
            return part + "; with fewer items than ranks some parts are empty" * (length < world)
    here, everything = f"for length {length} and world_size {world}", list(range(length))
    read = sorted(index for part in parts for index in part)
    sizes, rest = [len(part) for part in parts], length % world
    whole = [part for part in parts if sorted(part) == everything] if world > 1 < length else []
    lost = [index for index in everything if index not in read]
    twice = [index for index in set(read) if read.count(index) > 1]
    rules = {
        f"an index lies outside of 0 to {length - 1}: {read}": not {*read} <= {*everything},
        f"every rank reads the whole data set {here}: the parts must not share an item":
            len(whole) == world,
        f"one rank reads everything {here}, and the others nothing: share it out": whole,
        f"a rank reads the same index more than once {here}: the sizes are {sizes}":
            any(len({*part}) < len(part) for part in parts),
        f"the parts overlap {here}: the index {min(twice, default=0)} is read more than once":
            twice,
        f"the remainder is dropped: {length} items on {world} ranks leave {rest} over, and nobody "
        f"reads the index {length - rest}": rest and lost == everything[-rest:],
        f"nobody reads the index {min(lost, default=0)} {here} ({len(lost)} of {length} are lost)":
            lost,
        f"the sizes of the parts are {sizes} {here}, and may differ by at most one: share the "
        "remainder out, do not give it to one rank": max(sizes) - min(sizes) > 1,
    }  # fmt: skip
    return next((sentence for sentence, broken in rules.items() if broken), None)


def wrong_orders(length, ranks):
    """ranks: for each, for each seed and epoch [the order, the order asked again]."""
    for first, again in [pair for seeds in ranks for epochs in seeds for pair in epochs]:
        if isinstance(first, str):
            return first
        if first != again:
            return (
                "epoch_order returns two orders for the same arguments: shuffle with a generator "
                "of its own, made from seed and epoch, in each call"
            )
    one, other = ([[of[seed][n][0] for of in ranks] for n in range(3)] for seed in range(2))
    for epoch, parts in enumerate([*one, *other]):
        if sentence := wrong_shares(length, f"in epoch {epoch % 3}", parts):
            return sentence
    if length < 2 * len(ranks):
        return None  # so few items may come in the same order twice
    rules = {
        "every rank reads its items in rising order: nothing is shuffled, or a sort has undone it":
            all(part == sorted(part) for parts in one for part in parts),
        "two epochs have the same order: make the generator from seed and epoch, not from the seed "
        "alone": one[0] == one[1] or one[1] == one[2],
        "each rank reads the same items in every epoch: each has shuffled its own part; shuffle "
        "the whole data set first, and then partition it":
            all(sorted(a) == sorted(b) for a, b in zip(*one[:2], strict=True)),
        "another seed gives the same order: make the generator from seed and epoch, not from the "
        "epoch alone": any(a == b for a, b in zip(one, other, strict=True)),
    }  # fmt: skip
    return next((sentence for sentence, broken in rules.items() if broken), None)


def wrong_shares(length, when, parts):
    """Whether the ranks' orders of one epoch are one permutation, shared out."""
    everything, read = list(range(length)), sorted(index for part in parts for index in part)
    sizes = [len(part) for part in parts]
    take = "after the shuffle, take the part that partition gives"
    if read == everything and max(sizes) - min(sizes) <= 1:
        return None
    if all(sorted(part) == everything for part in parts):
        return f"{when} every rank reads all {length} items: {take}"
    if not {*read} <= {*everything}:
        return f"epoch_order gives an index outside of 0 to {length - 1}"
    if read == everything or len(read) != length:
        return f"{when} the ranks read {sizes} of {length} items: {take}"
    twice = next(index for index in read if read.count(index) > 1)
    return (
        f"the ranks do not share one permutation: {when} the index {twice} is read more than once, "
        "and another by nobody: make the generator from seed and epoch, never from the rank"
    )
