"""A link between two machines: how many bits go through it in a second, and how late they come."""

import math
from dataclasses import dataclass

from helpers.cost import all_reduce_bytes


@dataclass(frozen=True)
class Link:
    """megabits: a second, in each direction. milliseconds: from when a bit is sent to its arrival.

    Raises ValueError for a link through which nothing comes.
    """

    megabits: float
    milliseconds: float = 0.0

    def __post_init__(self):
        if not 0 < self.megabits < math.inf:
            raise ValueError(
                f"a link of {self.megabits:g} megabits a second: give a number above 0, as 1000 "
                "for gigabit Ethernet"
            )
        if not 0 <= self.milliseconds < math.inf:
            raise ValueError(
                f"a link with a delay of {self.milliseconds:g} milliseconds: give 0 or more"
            )

    def seconds(self, size: float, messages: int = 1) -> float:
        """How long `size` bytes take in so many messages, each sent when the last has come."""
        return messages * self.milliseconds / 1e3 + 8 * size / (self.megabits * 1e6)

    def all_reduce_seconds(self, size: float, ranks: int) -> float:
        """How long a ring all-reduce of `size` bytes takes at least, where this is each link.

        A rank sends 2 (ranks - 1) messages, one after the other (Patarasuk and Yuan, 2009, JPDC).
        """
        return self.seconds(all_reduce_bytes(size, ranks), 2 * (ranks - 1))
