"""Programs for DP-3: wrong ones, most of which train without a sign of it, and right ones.

The task has two functions, and one body stands in both: `both` puts a choice into it.
"""

from textwrap import dedent, indent

from helpers.grade.task import Program

STRIDES = "return range(rank, length, world_size)"
SHUFFLED = """
    order = list(range(length))
    random.Random(f"{epoch}/{seed}").shuffle(order)
    return [order[i] for i in partition(length, rank, world_size)]
    """


def both(partition=STRIDES, epoch_order=SHUFFLED):
    """A body that is right in either function, except for what is given."""
    inside = [indent(dedent(body).strip("\n"), "    ") for body in (epoch_order, partition)]
    return f"if 'epoch' in locals():\n{inside[0]}\nelse:\n{inside[1]}\n"


PROGRAMS = (
    Program(
        "the remainder dropped",
        both("""
            size = length // world_size
            return range(rank * size, (rank + 1) * size)
            """),
        says="the remainder is dropped",
    ),
    Program(
        "the parts too large",
        both("""
            size = -(-length // world_size)
            return range(rank * (length // world_size), min(length, rank * size + size))
            """),
        says="the parts overlap",
    ),
    Program(
        "everybody gets everything",
        both("return range(length)"),
        says="every rank reads the whole data set",
    ),
    Program(
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
    Program(
        "the same permutation in every epoch",
        both(
            epoch_order="""
            order = list(range(length))
            random.Random(seed).shuffle(order)
            return [order[i] for i in partition(length, rank, world_size)]
            """
        ),
        says="two epochs have the same order",
        met="torch's DistributedSampler without set_epoch(epoch), of which its documentation warns",
    ),
    Program(
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
)

RIGHT = {
    "every world_size-th": both(),
    "the first ones get one more": both("""
        size, rest = divmod(length, world_size)
        begin = rank * size + min(rank, rest)
        return range(begin, begin + size + (rank < rest))
        """),
    "torch's generator, seed + epoch": both(
        epoch_order="""
        import torch

        draw = torch.Generator().manual_seed(seed + epoch)
        order = torch.randperm(length, generator=draw)
        return order[rank::world_size]
        """
    ),
}
