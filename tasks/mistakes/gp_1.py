"""Wrong ways to do GP-1, each to be caught with words of its own; and right ways, to be passed."""

from helpers.grade import PlantedMistake


def cutting(
    shuffle="random.Random(seed).shuffle(index)",
    end="round(samples * total)",
    start="begin = end",
    give="return parts",
):
    """The right answer in other words, with one of its parts done in another way."""
    return f"""
        index = list(range(samples))
        {shuffle}
        parts, begin, total = [], 0, 0.0
        for size in sizes:
            total += size
            end = {end}
            parts.append(index[begin:end])
            {start}
        {give}
        """


MISTAKES = (
    PlantedMistake("not shuffled", cutting(shuffle="pass"), says="still in their order"),
    PlantedMistake(
        "the seed forgotten", cutting(shuffle="random.shuffle(index)"), says="same seed"
    ),
    PlantedMistake(
        "a seed of its own", cutting(shuffle="random.Random(7).shuffle(index)"), says="another seed"
    ),
    PlantedMistake(
        "each length rounded down", cutting(end="begin + int(samples * size)"), says="in no part"
    ),
    PlantedMistake("parts overlap", cutting(start="begin = 0"), says="is in two parts"),
    PlantedMistake("only one part", cutting(give="return parts[:1]"), says="one for each share"),
    PlantedMistake(
        "all in the last",
        cutting(give="return [[] for _ in parts[1:]] + [index]"),
        says="and its share is",
    ),
    PlantedMistake(
        "counted from 1",
        cutting(give="return [[n + 1 for n in part] for part in parts]"),
        says="such as sample 0, are in no part",
    ),
)
ALSO_RIGHT = {"a running sum": cutting()}
