"""Programs for PP-4: wrong orders, and right ones."""

from helpers.grade.task import Program


def orders(
    steps="[(c, r0 + k) for r0 in range(0, micro_batches, ranks) for c in range(chunks) "
    "for k in range(ranks)]",
    ahead="min(2 * (ranks - 1 - r) + (chunks - 1) * ranks, len(steps))",
):
    """The right answer with one of its parts done in another way."""
    return f"""
        steps = {steps}
        rows = []
        for r in range(ranks):
            down = [f"{{c * ranks + r}}F{{i}}" for c, i in steps]
            up = [f"{{(chunks - 1 - c) * ranks + r}}B{{i}}" for c, i in steps]
            ahead = {ahead}
            row = down[:ahead]
            for n in range(len(steps)):
                row = row + down[ahead + n : ahead + n + 1] + [up[n]]
            rows.append(row)
        return rows
        """


PROGRAMS = (
    Program(
        "ahead as in plain 1F1B",
        orders(ahead="min(ranks - 1 - r, len(steps))"),
        says="times before its first backward, and it should be",
    ),
    Program(
        "all micro-batches through a chunk",
        orders(steps="[(c, k) for c in range(chunks) for k in range(micro_batches)]"),
        says="a round is as many micro-batches as there are ranks",
    ),
)

RIGHT = {
    "plain": orders(),
}
