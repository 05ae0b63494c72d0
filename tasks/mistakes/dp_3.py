"""Wrong ways to do DP-3, each to be caught with words of its own; and right ways, to be passed.

The task has two functions, and one body stands in both: `both` puts a choice into it.
"""

from textwrap import dedent, indent

from helpers.grade import PlantedMistake

STEPS = "return range(rank, length, world_size)"
SHUFFLED = """
    order = list(range(length))
    random.Random(f"{epoch}/{seed}").shuffle(order)
    return [order[i] for i in partition(length, rank, world_size)]
    """


def both(partition=STEPS, epoch_order=SHUFFLED):
    """A body that is right in either function, but for what is given."""
    inside = [indent(dedent(body).strip("\n"), "    ") for body in (epoch_order, partition)]
    return f"if 'epoch' in locals():\n{inside[0]}\nelse:\n{inside[1]}\n"


MISTAKES = (
    PlantedMistake(
        "the remainder dropped",
        both("""
            size = length // world_size
            return range(rank * size, (rank + 1) * size)
            """),
        says="the remainder is dropped",
    ),
    PlantedMistake(
        "the parts too large",
        both("""
            size = -(-length // world_size)
            return range(rank * (length // world_size), min(length, rank * size + size))
            """),
        says="the parts overlap",
    ),
    PlantedMistake(
        "off by one at the end",
        both("""
            end = length * (rank + 1) // world_size
            return range(length * rank // world_size, end + 1)
            """),
        says="reads the index 8 for length 8 and world_size 1, and they go from 0 to 7",
    ),
    PlantedMistake(
        "off by one at the begin",
        both("""
            end = length * (rank + 1) // world_size
            return range(length * rank // world_size + 1, end)
            """),
        says="nobody reads the index 0",
    ),
    PlantedMistake(
        "rank 0 gets everything",
        both("return range(length) if rank == 0 else range(0)"),
        says="one rank reads everything",
    ),
    PlantedMistake(
        "everybody gets everything",
        both("return range(length)"),
        says="every rank reads the whole data set",
    ),
    PlantedMistake(
        "the remainder to the last rank",
        both("""
            size = length // world_size
            return range(rank * size, length if rank == world_size - 1 else (rank + 1) * size)
            """),
        says="may differ by at most one",
    ),
    PlantedMistake(
        "rounded up, so that the last ranks have less",
        both("""
            size = -(-length // world_size)
            return range(min(length, rank * size), min(length, (rank + 1) * size))
            """),
        says="may differ by at most one",
    ),
    PlantedMistake(
        "fails with fewer items than ranks",
        both("""
            every = length // (length // world_size) if length else 1
            return range(rank, length, world_size)
            """),
        says="with fewer items than ranks some parts are empty",
    ),
    PlantedMistake(
        "a part is never empty",
        both("""
            part = range(rank, length, world_size)
            return part or range(rank % max(length, 1), rank % max(length, 1) + 1)
            """),
        says="the parts overlap for length 3 and world_size 4",
    ),
    PlantedMistake(
        "forgets to return",
        both("range(rank, length, world_size)"),
        says="gives None: is there a return?",
    ),
    PlantedMistake(
        "a number, not indices",
        both("return length // world_size"),
        says="must give indices, and not an object of the type int",
    ),
    PlantedMistake(
        "every item twice",
        both("return 2 * list(range(rank, length, world_size))"),
        says="a rank reads the same index more than once",
    ),
    PlantedMistake(
        "asks torch for the rank",
        both("""
            import torch.distributed as dist

            return range((rank + dist.get_rank()) % world_size, length, world_size)
            """),
        says="partition gives other parts on another rank",
    ),
    PlantedMistake(
        "a permutation for each rank",
        both(
            epoch_order="""
            order = list(range(length))
            random.Random(f"{seed} {epoch} {rank}").shuffle(order)
            return [order[i] for i in partition(length, rank, world_size)]
            """
        ),
        says="the ranks do not share one permutation",
    ),
    PlantedMistake(
        "a generator without a seed",
        both(
            epoch_order="""
            order = list(range(length))
            random.shuffle(order)
            return [order[i] for i in partition(length, rank, world_size)]
            """
        ),
        says="two orders for the same arguments",
    ),
    PlantedMistake(
        "the same permutation in every epoch",
        both(
            epoch_order="""
            order = list(range(length))
            random.Random(seed).shuffle(order)
            return [order[i] for i in partition(length, rank, world_size)]
            """
        ),
        says="two epochs have the same order",
    ),
    PlantedMistake(
        "the same permutation for every seed",
        both(
            epoch_order="""
            order = list(range(length))
            random.Random(epoch).shuffle(order)
            return [order[i] for i in partition(length, rank, world_size)]
            """
        ),
        says="another seed gives the same order",
    ),
    PlantedMistake(
        "partitioned first, shuffled then",
        both(
            epoch_order="""
            own = list(partition(length, rank, world_size))
            random.Random(f"{seed} {epoch}").shuffle(own)
            return own
            """
        ),
        says="each has shuffled its own part",
    ),
    PlantedMistake(
        "not shuffled",
        both(epoch_order="return list(partition(length, rank, world_size))"),
        says="nothing is shuffled",
    ),
    PlantedMistake(
        "shuffled and sorted again",
        both(
            epoch_order="""
            order = list(range(length))
            random.Random(f"{seed} {epoch}").shuffle(order)
            return sorted(order[i] for i in partition(length, rank, world_size))
            """
        ),
        says="nothing is shuffled, or a sort",
    ),
    PlantedMistake(
        "shuffled, and not partitioned",
        both(
            epoch_order="""
            order = list(range(length))
            random.Random(f"{seed} {epoch}").shuffle(order)
            return order
            """
        ),
        says="every rank reads all",
    ),
    PlantedMistake(
        "drawn, so that an item may come twice",
        both(
            epoch_order="""
            draw = random.Random(f"{seed} {epoch}")
            order = [draw.randrange(length) for _ in range(length)]
            return [order[i] for i in partition(length, rank, world_size)]
            """
        ),
        says="the ranks do not share one permutation",
    ),
    PlantedMistake(
        "the remainder of the epoch dropped",
        both(
            epoch_order="""
            order, size = list(range(length)), length // world_size
            random.Random(f"{seed} {epoch}").shuffle(order)
            return order[rank * size : (rank + 1) * size]
            """
        ),
        says="items together, and there are",
    ),
    PlantedMistake(
        "the remainder of the epoch to the last rank",
        both(
            epoch_order="""
            order, size = list(range(length)), length // world_size
            random.Random(f"{seed} {epoch}").shuffle(order)
            return order[rank * size : length if rank == world_size - 1 else (rank + 1) * size]
            """
        ),
        says="take the part that partition gives",
    ),
    PlantedMistake(
        "counted from 1",
        both(
            epoch_order="""
            order = list(range(1, length + 1))
            random.Random(f"{seed} {epoch}").shuffle(order)
            return [order[i] for i in partition(length, rank, world_size)]
            """
        ),
        says="an index outside of 0 to",
    ),
)

ALSO_RIGHT = {
    "every world_size-th": both(),
    "the first ones get one more": both("""
        size, rest = divmod(length, world_size)
        begin = rank * size + min(rank, rest)
        return range(begin, begin + size + (rank < rest))
        """),
    "a list": both("return [i for i in range(length) if i % world_size == rank]"),
    "torch's generator, seed + epoch": both(
        epoch_order="""
        import torch

        draw = torch.Generator().manual_seed(seed + epoch)
        order = torch.randperm(length, generator=draw)
        return order[rank::world_size]
        """
    ),
    "numpy's generator": both(
        epoch_order="""
        import numpy

        order = numpy.random.default_rng([seed, epoch]).permutation(length)
        return order[list(partition(length, rank, world_size))]
        """
    ),
}
