"""CP-3: two chunks for each rank, mirror images of each other."""


def cases(seed):
    """(length, ranks); the last length can't be cut into equal chunks."""
    each = 2 + seed % 4
    return [(2 * ranks * each, ranks) for ranks in (2, 4, 3, 1)] + [(20, 4)]


def name(case):
    return f"{case[0]} positions, {case[1]} ranks"


def chunks_of(case, count):
    each = case[0] // count
    return [list(range(n * each, (n + 1) * each)) for n in range(count)]


def truth(case, second=lambda r, n: n - 1 - r, join=lambda one, other: one + other):
    """Each rank's positions. second: which chunk it has besides its own, of n."""
    length, ranks = case
    if length % (2 * ranks):
        return {"positions": "refused"}
    chunks = chunks_of(case, 2 * ranks)
    both = ((chunks[r], chunks[second(r, 2 * ranks) % (2 * ranks)]) for r in range(ranks))
    return {"positions": [join(*two) for two in both]}


MISTAKES = {
    "each rank has one contiguous part, and the last rank has the most to do": (
        lambda case: {"positions": chunks_of(case, case[1])}
    ),
    "every rank has each ranks-th position: that is a stripe, which is balanced too, but each "
    "block of keys is half visible to all queries; cut chunks": lambda case: {
        "positions": [list(range(r, case[0], case[1])) for r in range(case[1])]
    },
    "the second chunk must be the mirror image of the first: the ranks with later chunks have more "
    "to do": {"second": lambda r, n: r + n // 2},
    "the second chunk is off by one: count from 0, so the last chunk is 2 * ranks - 1": {
        "second": lambda r, n: n - r
    },
    "the earlier chunk comes first": {"join": lambda one, other: other + one},
    "the second chunk runs backwards: positions inside a chunk go up": {
        "join": lambda one, other: one + other[::-1]
    },
}


def explain(case, seen):
    if case[0] % (2 * case[1]) and seen["positions"] != "refused":
        return "these chunks can't be equal: let equal_chunks cut 2 * ranks of them, and refuse it"
    return None
