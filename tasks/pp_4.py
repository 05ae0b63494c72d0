"""PP-4: order the actions of interleaved 1F1B."""

import random

HINTS = (
    "One list of (chunk, micro-batch) serves both ways: for each round, for each chunk, for each "
    "micro-batch of the round. Backward takes the chunks from the last to the first. Then only "
    "the mixing is left: some forwards first, then pairs, then the backwards left over.",
    "For each rank: down = its forwards, up = its backwards, in the order of that list, each with "
    "chunks * micro_batches entries. Take the first `ahead` of down; then, for each n, down[ahead "
    "+ n] if there is one, and up[n]. `ahead` stands in the docstring; it is never more than "
    "chunks * micro_batches.",
)
NAME = "interleaved({0}, {1}, {2})"
LESSON, MINUTES = "beyond_1f1b", 35


def observe(module, case):
    return {f"rank {r}": list(map(str, row)) for r, row in enumerate(module.interleaved(*case))}


SIZES = ((2, 4, 2), (3, 6, 2), (4, 8, 3), (2, 2, 1), (4, 4, 2), (3, 3, 4))


def cases():
    """(ranks, micro-batches, chunks): the known ones, and two that are drawn."""
    ranks = random.sample(range(2, 7), 2)
    return [*SIZES, *((r, r * random.randint(1, 4), random.randint(2, 5)) for r in ranks)]


AHEAD = "2 * (ranks - 1 - rank) + (chunks - 1) * ranks"
PAIR = ("down[ahead + n : ahead + n + 1]", "[up[n]]")
ROUNDS = "for c in range(chunks) for k in range(ranks)"
MUTANTS = {
    (("c * ranks + rank}F", "rank * chunks + c}F"),
     ("(chunks - 1 - c) * ranks + rank}B", "rank * chunks + chunks - 1 - c}B")):
        "each rank holds stages that follow one another: rank r holds the stages r, r + ranks, "
        "r + 2 * ranks, …",
    ("(chunks - 1 - c)", "c"):
        "backward begins with the first stage of the rank: it begins with the last one",
    (("range(0, micro_batches, ranks)", "[0]"),
     ("for k in range(ranks)", "for k in range(micro_batches)")):
        "all micro-batches pass one stage before the next: a round is as many micro-batches as "
        "there are ranks, and then the next stage follows",
    (ROUNDS, "for k in range(ranks) for c in range(chunks)"):
        "each micro-batch passes all stages of the rank before the next one comes: for each round, "
        "for each stage of the rank, for each micro-batch of the round",
    (AHEAD, "ranks - 1 - rank"):
        "as many go ahead as in plain 1F1B: the docstring says how many times a rank goes forward "
        "before its first pair",
    (" + ".join(PAIR), " + ".join(PAIR[::-1])):
        "each pair begins with its backward: one F, then one B",
    ("range(len(steps))", "range(len(steps) - ahead)"):
        "the last backwards are missing: once all forwards are done, the backwards that are left",
}  # fmt: skip
