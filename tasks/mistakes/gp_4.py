"""Wrong ways to do GP-4, each to be caught with words of its own; and right ways, to be passed."""

from helpers.grade import PlantedMistake


def ticking(
    ticks="num_batches + num_partitions - 1",
    first="max(0, k - num_partitions + 1)",
    last="min(k, num_batches - 1)",
    pair="(i, k - i)",
):
    """The right answer in other words, with one of its parts done in another way."""
    return f"""
        for k in range({ticks}):
            yield [{pair} for i in range({first}, {last} + 1)]
        """


MISTAKES = (
    PlantedMistake("stops too early", ticking(ticks="num_batches"), says="never comes to part"),
    PlantedMistake(
        "one tick more", ticking(ticks="num_batches + num_partitions"), says="ticks, not"
    ),
    PlantedMistake("swapped", ticking(pair="(k - i, i)"), says="the micro-batch comes first"),
    PlantedMistake("no first", ticking(first="0"), says="there is no micro-batch"),
    PlantedMistake("no last", ticking(last="k"), says="there is no micro-batch"),
    PlantedMistake(
        "everything at once",
        "yield [(i, j) for i in range(num_batches) for j in range(num_partitions)]",
        says="has not done it before",
    ),
    PlantedMistake(
        "one after the other",
        """
        for i in range(num_batches):
            for j in range(num_partitions):
                yield [(i, j)]
        """,
        says="parts work at the same time",
    ),
    PlantedMistake(
        "twice",
        "for k in range(num_batches + num_partitions - 1):\n"
        "    yield [(k - j, j) for j in range(num_partitions) if 0 <= k - j < num_batches] * 2",
        says="twice",
    ),
)
ALSO_RIGHT = {"by micro-batch": ticking()}
