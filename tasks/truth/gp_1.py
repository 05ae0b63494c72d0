"""GP-1: rules for parts of a data set; any shuffle will do."""

import random
from collections import Counter
from itertools import pairwise

SHUFFLED = 20  # fewer samples may be in order by chance


def cases(seed):
    """Samples, the share of each part, a seed for the shuffle, and another one."""
    draw = random.Random(seed)
    ranks = draw.randint(5, 8)
    sizes = [(10, [0.7, 0.2, 0.1]), (49, [1 / 49] * 49), (50, [1 / 3] * 3), (40, [0.25] * 4)]
    sizes.append((ranks * draw.randint(5, 9) - 1, [1 / ranks] * ranks))
    seeds = draw.sample(range(1, 10**6), 2)
    return [
        {"samples": samples, "sizes": sizes, "seed": seeds[0], "another": seeds[1]}
        for samples, sizes in sizes
    ]


def name(case):
    return f"{case['samples']} samples in {len(case['sizes'])} parts"


def explain(case, seen):
    """What is wrong with the parts, or None."""
    samples, sizes, parts = case["samples"], case["sizes"], seen["parts"]
    if len(parts) != len(sizes):
        return f"there are {len(parts)} lists; give one for each share"
    together = [number for part in parts for number in part]
    twice = next((n for n, count in Counter(together).items() if count > 1), None)
    if twice is not None:
        return f"sample {twice} is in two parts"
    lost = sorted(set(range(samples)) - set(together))
    if lost:
        return (
            f"{len(lost)} of them, such as sample {lost[0]}, are in no part: round the ends of the "
            "parts, and not each length"
        )
    if max(together) >= samples:
        return f"there is no sample {max(together)}; they are counted from 0"
    for number, (size, part) in enumerate(zip(sizes, parts, strict=True)):
        if abs(len(part) - size * samples) > 1:
            return f"part {number} has {len(part)} samples, and its share is {size * samples:.1f}"
    follow = sum(after - before == 1 for before, after in pairwise(together))
    if samples > SHUFFLED and follow > samples / 2:
        return "they are still in their order: shuffle them before you cut"
    if seen["again"] != parts:
        return "the same seed gives other parts: every rank must cut in the same way"
    if samples > SHUFFLED and seen["another"] == parts:
        return "another seed gives the same parts: does the shuffle use the seed?"
    return None
