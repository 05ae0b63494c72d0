"""Wrong ways to do PP-4, each to be caught with words of its own; and right ways, to be passed."""

from helpers.grade import PlantedMistake


def orders(
    steps="[(c, r0 + k) for r0 in range(0, micro_batches, ranks) for c in range(chunks) "
    "for k in range(ranks)]",
    stage="c * ranks + r",
    back="(chunks - 1 - c) * ranks + r",
    ahead="min(2 * (ranks - 1 - r) + (chunks - 1) * ranks, len(steps))",
    pair="down[ahead + n : ahead + n + 1] + [up[n]]",
    give="rows",
):
    """The right answer with one of its parts done in another way."""
    return f"""
        steps = {steps}
        rows = []
        for r in range(ranks):
            down = [f"{{{stage}}}F{{i}}" for c, i in steps]
            up = [f"{{{back}}}B{{i}}" for c, i in steps]
            ahead = {ahead}
            row = down[:ahead]
            for n in range(len(steps)):
                row = row + {pair}
            rows.append(row)
        return {give}
        """


MISTAKES = (
    PlantedMistake(
        "chunks side by side",
        orders(stage="r * chunks + c", back="r * chunks + chunks - 1 - c"),
        says="it holds the stages 0, 2",
    ),
    PlantedMistake(
        "backward from the first stage",
        orders(back="c * ranks + r"),
        says="backward begins with the last stage of the rank",
    ),
    PlantedMistake(
        "all micro-batches through a chunk",
        orders(steps="[(c, k) for c in range(chunks) for k in range(micro_batches)]"),
        says="a round is as many micro-batches as there are ranks",
    ),
    PlantedMistake(
        "each micro-batch through all chunks",
        orders(steps="[(c, k) for k in range(micro_batches) for c in range(chunks)]"),
        says="for each round, for each stage of the rank",
    ),
    PlantedMistake(
        "ahead as in plain 1F1B",
        orders(ahead="min(ranks - 1 - r, len(steps))"),
        says="times before its first backward, and it should be",
    ),
    PlantedMistake(
        "the last backwards forgotten",
        orders(give="[row[:-1] for row in rows]"),
        says="0 times, and it must be once",
    ),
    PlantedMistake(
        "backward before forward",
        orders(pair="[up[n]] + down[ahead + n : ahead + n + 1]"),
        says="times before its first backward, and it should be",
    ),
    PlantedMistake("one rank", orders(give="rows[:1]"), says="gives 1 orders, and there are 2"),
)

ALSO_RIGHT = {
    "plain": orders(),
    "as the library's own text": """
        from helpers.schedules import interleaved as library
        return [[str(a) for a in row] for row in library(ranks, micro_batches, chunks).ranks]
        """,
}
