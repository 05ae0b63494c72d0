"""Wrong ways to do GP-6, each to be caught with words of its own; and right ways, to be passed."""

from helpers.grade import PlantedMistake


def through(
    size="self.split_size",
    ticks="_clock_cycles(len(pieces), len(self.devices))",
    give="join(pieces)",
):
    """The right answer in other words, with one of its parts done in another way."""
    return f"""
        pieces = split(x, {size})
        for now in {ticks}:
            self.compute(pieces, now)
        return {give}
        """


MISTAKES = (
    PlantedMistake(
        "as many as split_size",
        through(size="len(_first(x)) // self.split_size"),
        says="split_size is the number of samples in one",
    ),
    PlantedMistake("in one piece", through(size="len(_first(x))"), says="micro-batches of [7]"),
    PlantedMistake("the last alone", through(give="pieces[-1]"), says="join all micro-batches"),
    PlantedMistake(
        "the other way round",
        through(give="join(pieces[::-1])"),
        says="in the order they came in",
    ),
    PlantedMistake(
        "too few ticks",
        through(ticks="list(_clock_cycles(len(pieces), len(self.devices)))[:-1]"),
        says="is it each tick?",
    ),
)
ALSO_RIGHT = {"other names": through()}
