"""Wrong ways to do LA-1, each to be caught with words of its own; and right ways, to be passed."""

from helpers.grade import PlantedMistake


def answer(
    order="LAUNCHERS",
    there="r in environ and s in environ",
    refuse="not 0 <= number < count",
    error="ValueError(f'{r}: {number} of {count}')",
    local="int(environ.get(x, number))",
    give="number, count, local",
    alone="0, 1, 0",
):
    """The right answer with one of its parts done in another way."""
    return f"""
        for r, s, x in {order}:
            if {there}:
                number, count = int(environ[r]), int(environ[s])
                if {refuse}:
                    raise {error}
                local = {local}
                return {give}
        return {alone}
        """


MISTAKES = (
    PlantedMistake("the outermost", answer(order="LAUNCHERS[::-1]"), says="believe torchrun"),
    PlantedMistake("torchrun only", answer(order="LAUNCHERS[:1]"), says="started by Open MPI"),
    PlantedMistake(
        "rank 0 is taken for none",
        answer(there="int(environ.get(r, 0)) and s in environ"),
        says="as rank 0 of",
    ),
    PlantedMistake("half is enough", answer(there="r in environ"), says="WORLD_SIZE is not"),
    PlantedMistake("no local rank", answer(local="int(environ.get(x))"), says="no local rank"),
    PlantedMistake(
        "local rank 0 for all", answer(local="int(environ.get(x, 0))"), says="no local rank"
    ),
    PlantedMistake("text", answer(give="environ[r], environ[s], local"), says="not text"),
    PlantedMistake("two numbers", answer(give="number, count"), says="give three numbers"),
    PlantedMistake("nothing refused", answer(refuse="False"), says="raise ValueError"),
    PlantedMistake("one too many", answer(refuse="not 0 <= number <= count"), says="cannot be"),
    PlantedMistake("below zero", answer(refuse="number >= count"), says="rank -1 of"),
    PlantedMistake("another error", answer(error="KeyError(r)"), says="not KeyError"),
    PlantedMistake("a message without name", answer(error="ValueError('no')"), says="name the"),
    PlantedMistake("nobody is alone", answer(alone="None"), says="give three numbers"),
)

ALSO_RIGHT = {
    "plain": answer(),
    "a list": answer(give="[number, count, local]"),
}
