"""CP-3: balance the causal mask with a zigzag."""

import random

HINTS = (
    "An early position looks at few others and a late one at many. How do you pair the chunks, so "
    "that each pair looks at equally many?",
    "chunks = equal_chunks(length, 2 * ranks); torch.cat of chunk `rank` and of chunk `2 * ranks "
    "- 1 - rank`.",
)
NAME = "{0} positions, {1} ranks"
LESSON, MINUTES = "long_context", 10


def observe(module, case):
    length, ranks = case
    try:
        found = [module.zigzag(length, ranks, rank) for rank in range(ranks)]
    except ValueError:
        return {"positions": "refused"}
    return {"positions": [getattr(one, "tolist", lambda one=one: one)() for one in found]}


def cases():
    """(length, ranks); the last length can't be cut into equal chunks."""
    each = random.randint(2, 5)
    return [(2 * ranks * each, ranks) for ranks in (2, 4, 3, 1)] + [(20, 4)]


SECOND = "2 * ranks - 1 - rank"
OFF = f"the second chunk is off by one: count from 0, so the last chunk is {SECOND[:-7]}"
MUTANTS = {
    "return contiguous(length, ranks, rank)":
        "each rank has one contiguous part, and the last rank has the most to do",
    "return torch.arange(rank, length, ranks)":
        "every rank has each ranks-th position: that is a stripe, which is balanced too, but each "
        "block of keys is half visible to all queries; cut chunks",
    (SECOND, "rank + ranks"):
        "the second chunk must be the mirror image of the first: the ranks with later chunks have "
        "more to do",
    (SECOND, "-rank"): OFF,
    (f"chunks[rank], chunks[{SECOND}]", f"chunks[{SECOND}], chunks[rank]"):
        "the earlier chunk comes first",
    (f"chunks[{SECOND}]", f"chunks[{SECOND}].flip(0)"):
        "the second chunk runs backwards: positions inside a chunk go up",
}  # fmt: skip


STOPPED = {"IndexError": OFF}


def explain(case, seen):
    if case[0] % (2 * case[1]) and seen["positions"] != "refused":
        return "these chunks can't be equal: let equal_chunks cut 2 * ranks of them, and refuse it"
