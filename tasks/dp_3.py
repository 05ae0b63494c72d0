"""DP-3: partition a data set."""

from helpers.grade import Mistake, Submission, Task

TASK = Task(
    id="DP-3",
    title="partition a data set, and shuffle it alike on all ranks",
    file="DP/partition/partition.py",
    function="partition",
    also=("epoch_order",),
    notebook="04",
    points=10,
    minutes=20,
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

RANKS = 4
EPOCHS = 3


def cases_of(seed):
    """Lengths and world sizes: drawn anew, and the ones at the edge."""
    import random

    draw = random.Random(seed)
    worlds = [2, 3, 4, 5, 7]
    drawn = [(draw.randint(20, 90), world) for world in worlds]
    uneven = [(world * draw.randint(2, 9) + world - 1, world) for world in worlds]
    return [(8, 1), (12, 4), *uneven, *drawn, (4, 4), (3, 4), (1, 5), (0, 3)]


def lengths_of(seed):
    """Two data sets to shuffle: one that RANKS does not divide, and one with too few items."""
    return (4 * (seed % 7) + 42, RANKS - 1)


def work(module, seed):
    """On every rank, beside the student's code: all parts of each case; this rank's orders, each
    asked for twice."""
    import torch.distributed as dist

    parts = [
        [listed(module.partition, length, rank, world) for rank in range(world)]
        for length, world in cases_of(seed)
    ]
    orders = {
        (length, new, epoch): [
            listed(module.epoch_order, length, dist.get_rank(), RANKS, seed + new, epoch)
            for _ in range(2)
        ]
        for length in lengths_of(seed)
        for new in (0, 1000)
        for epoch in range(EPOCHS)
    }
    return parts, orders


def listed(function, *args):
    """The indices as a list; what went wrong as a text."""
    call = f"{function.__name__}({', '.join(map(str, args))})"
    try:
        found = function(*args)
    except NotImplementedError:
        raise
    except Exception as error:
        return f"{call} raises {type(error).__name__}: {error}"
    if found is None:
        return f"{call} gives None: is there a return?"
    try:
        return [int(index) for index in found]
    except (TypeError, ValueError):
        return f"{call} must give indices, and not an object of the type {type(found).__name__}"


def verify(submission: Submission) -> None:
    """Put the parts of all ranks together. Raises Mistake or WorkFailed."""
    answers = submission.on_ranks(work, RANKS, submission.seed)
    for (length, world), *found in zip(
        cases_of(submission.seed), *(parts for parts, _ in answers), strict=True
    ):
        judge_parts(length, world, found[0])
        if any(other != found[0] for other in found):
            raise Mistake(
                f"partition gives other parts on another rank, for length {length} and world_size "
                f"{world}: it must depend on its arguments alone"
            )
    for length in lengths_of(submission.seed):
        judge_orders(length, [orders for _, orders in answers])


def judge_parts(length, world, parts):
    """Whether `parts` are a partition of `length` items. Raises Mistake."""
    here = f"for length {length} and world_size {world}"
    for part in parts:
        if isinstance(part, str):
            few = "; with fewer items than ranks some parts are empty" if length < world else ""
            raise Mistake(part + few)
    outside = [(rank, i) for rank, part in enumerate(parts) for i in part if not 0 <= i < length]
    if outside:
        rank, index = outside[0]
        last = f"they go from 0 to {length - 1}" if length else "an empty data set has none"
        raise Mistake(f"rank {rank} reads the index {index} {here}, and {last}")
    everything = list(range(length))
    if world > 1 and length and all(sorted(part) == everything for part in parts):
        raise Mistake(f"every rank reads the whole data set {here}: a part is what is its own")
    if world > 1 and length > 1 and any(sorted(part) == everything for part in parts):
        raise Mistake(f"one rank reads everything {here}, and the others nothing: share it out")
    readers = {i: [rank for rank, part in enumerate(parts) if i in part] for i in everything}
    twice = next((i for i in everything if len(readers[i]) > 1), None)
    if twice is not None:
        raise Mistake(
            f"the parts overlap {here}: the index {twice} is read by the ranks "
            f"{', '.join(map(str, readers[twice]))}"
        )
    missing = [i for i in everything if not readers[i]]
    if missing:
        raise Mistake(missing_sentence(length, world, missing))
    sizes = [len(part) for part in parts]
    if sum(sizes) > length:
        raise Mistake(f"a rank reads the same index more than once {here}: the sizes are {sizes}")
    if max(sizes) - min(sizes) > 1:
        raise Mistake(
            f"the sizes of the parts are {sizes} {here}, and may differ by at most one: share the "
            "remainder out, do not give it to one rank"
        )


def missing_sentence(length, world, missing):
    """Nobody reads the indices in `missing`: the sentence that says so, and why, if that shows."""
    rest = length % world
    if rest and missing == list(range(length - rest, length)):
        return (
            f"the remainder is dropped: {length} items on {world} ranks leave {rest} over, and "
            f"nobody reads the index {missing[0]}{' and those after it' if rest > 1 else ''}"
        )
    where = f"for length {length} and world_size {world}"
    return f"nobody reads the index {missing[0]} {where} ({len(missing)} of {length} are lost)"


def judge_orders(length, ranks):
    """Whether the orders of all ranks fit together in each epoch. Raises Mistake.

    ranks: for each rank {(length, new seed or not, epoch): [the order, the order asked again]}.
    """
    keys = [key for key in ranks[0] if key[0] == length]
    for orders in ranks:
        for key in keys:
            first, again = orders[key]
            if isinstance(first, str):
                raise Mistake(first)
            if first != again:
                raise Mistake(
                    "epoch_order gives two orders for the same arguments: shuffle with a "
                    "generator of its own, made from seed and epoch, in each call"
                )
    whole = {key: [orders[key][0] for orders in ranks] for key in keys}
    for (_, _, epoch), parts in whole.items():
        judge_shared(length, epoch, parts)
    if length < 2 * RANKS:
        return  # so few items may come in the same order twice
    epochs = [whole[(length, 0, epoch)] for epoch in range(EPOCHS)]
    if all(part == sorted(part) for parts in epochs for part in parts):
        raise Mistake(
            "every rank reads its items in rising order: nothing is shuffled, or a sort has undone "
            "the shuffle"
        )
    if epochs[0] == epochs[1] or epochs[1] == epochs[2]:
        raise Mistake(
            "two epochs have the same order: make the generator from seed and epoch, not from "
            "the seed alone"
        )
    if all(sorted(a) == sorted(b) for a, b in zip(*epochs[:2], strict=True)):
        raise Mistake(
            "each rank reads the same items in every epoch: each has shuffled its own part; "
            "shuffle the whole data set first, and then partition it"
        )
    if any(whole[(length, 0, e)] == whole[(length, 1000, e)] for e in range(EPOCHS)):
        raise Mistake(
            "another seed gives the same order: make the generator from seed and epoch, not from "
            "the epoch alone"
        )


def judge_shared(length, epoch, parts):
    """Whether the ranks' orders of one epoch are one permutation, shared out. Raises Mistake."""
    read = sorted(index for part in parts for index in part)
    if read == list(range(length)):
        sizes = [len(part) for part in parts]
        if max(sizes) - min(sizes) > 1:
            raise Mistake(
                f"in epoch {epoch} the ranks read {sizes} of {length} items: take the part that "
                "partition gives"
            )
        return
    if all(sorted(part) == list(range(length)) for part in parts):
        raise Mistake(
            f"in epoch {epoch} every rank reads all {length} items: after the shuffle, take the "
            "part that partition gives"
        )
    if any(not 0 <= index < length for index in read):
        raise Mistake(f"epoch_order gives an index outside of 0 to {length - 1}")
    if len(read) != length:
        raise Mistake(
            f"in epoch {epoch} the ranks read {len(read)} items together, and there are {length}: "
            "shuffle the list of all indices, and take the part that partition gives"
        )
    lost = next(index for index in range(length) if index not in read)
    twice = next(index for index in read if read.count(index) > 1)
    raise Mistake(
        f"the ranks do not share one permutation: in epoch {epoch} of {length} items nobody reads "
        f"the index {lost}, and {twice} is read {read.count(twice)} times: make the generator "
        "from seed and epoch, never from the rank"
    )
