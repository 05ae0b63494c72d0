"""Wrong ways to do GP-7, each to be caught with words of its own; and right ways, to be passed."""

from helpers.grade import PlantedMistake

NO_MASK = """
        class Forgets(nn.Module):
            def __init__(self, inner):
                super().__init__()
                self.inner = inner

            def forward(self, both):
                return self.inner(both[0]), both[1]
"""


def prepare(
    first="",
    block="BlockWithMask(self.h[n])",
    device="self.devices[n]",
    order="range(len(self.h))",
    size="split_size",
    hold="self._hold(pipe)",
):
    """The right answer in other words, with one of its parts done in another way."""
    return f"""
        {first}
        sequence = nn.Sequential()
        for n in {order}:
            sequence.append(WithDevice({block}, {device}))
        pipe = Pipe(sequence, {size}, recorders=recorders)
        {hold}
        """


MISTAKES = (
    PlantedMistake("not kept", prepare(hold="pipe.close()"), says="there is no pipe afterwards"),
    PlantedMistake("bare blocks", prepare(block="self.h[n]"), says="BlockWithMask takes a pair"),
    PlantedMistake("one device", prepare(device="self.devices[0]"), says="make parts of [4]"),
    PlantedMistake("always one", prepare(size="1"), says="the split size is 1"),
    PlantedMistake(
        "a submodule", prepare(hold="self._hold(pipe); self.pipe = pipe"), says="other names now"
    ),
    PlantedMistake(
        "copies",
        prepare(first="import copy", block="BlockWithMask(copy.deepcopy(self.h[n]))"),
        says="weights of its own",
    ),
    PlantedMistake(
        "from the last", prepare(block="BlockWithMask(self.h[-1 - n])"), says="once, in order"
    ),
    PlantedMistake(
        "without the mask",
        prepare(first=NO_MASK.strip(), block="Forgets(self.h[n])"),
        says="do not get the mask",
    ),
)
ALSO_RIGHT = {"append": prepare()}
