"""One thing that a rank computes: the letter, the stage, the micro-batch."""

import re
from typing import NamedTuple

KINDS = {
    "F": "forward",
    "B": "backward",
    "I": "gradient of the input",
    "W": "gradient of the weights",
}
_ACTION = re.compile(r"(\d+)?([FBIW])(\d+)")


class Action(NamedTuple):
    """What a rank does for one micro-batch in one stage. Printed as PyTorch prints it: 2F0.

    kind: "F" forward, "B" the whole backward, or its two halves "I" (gradient of the input, which
        the stage before waits for) and "W" (gradient of the weights, which nobody waits for).
    stage, micro_batch: counted from 0.

    A tuple and not a dataclass: a large schedule holds a quarter of a million of them.
    """

    kind: str
    stage: int
    micro_batch: int

    def __str__(self) -> str:
        return f"{self.stage}{self.kind}{self.micro_batch}"

    __repr__ = __str__


def read_action(text: str, stage: int | None = None) -> Action:
    """ "2F0" -> Action("F", 2, 0). stage: the one that is meant where the text names none ("F0").

    Raises ValueError, one sentence, if the text is no action.
    """
    found = _ACTION.fullmatch(text)
    if found is None:
        raise ValueError(
            f"{text!r} is no action: write F, B, I or W before its micro-batch, as F0, or after "
            "its stage too, as 2F0"
        )
    named, kind, micro_batch = found.groups()
    if named is None and stage is None:
        raise ValueError(f"{text!r} names no stage: write it before the letter, as 2{text}")
    return Action(kind, int(named) if named is not None else stage, int(micro_batch))


def names_a_stage(text: str) -> bool:
    """Whether a cell begins with the number of a stage, as "2F0" does and "F0" does not."""
    return text[:1].isdigit()
