"""A link between two machines: its bandwidth and its latency."""

import math
from dataclasses import dataclass

from helpers.cost import all_reduce_bytes


@dataclass(frozen=True)
class Link:
    """Bandwidth in megabits per second, each way, and latency in milliseconds, one way.

    Raises:
        ValueError: if the bandwidth is not positive and finite, or the latency is negative.
    """

    megabits: float
    milliseconds: float = 0.0

    def __post_init__(self):
        if not 0 < self.megabits < math.inf:
            raise ValueError(
                f"a link cannot have {self.megabits:g} megabits per second: give a number above 0, "
                "such as 1000 for gigabit Ethernet"
            )
        if not 0 <= self.milliseconds < math.inf:
            raise ValueError(
                f"a link cannot have a delay of {self.milliseconds:g} milliseconds: give 0 or more"
            )

    def seconds(self, size: float, messages: int = 1) -> float:
        """Return how long `size` bytes take in `messages` messages, one after the other."""
        return messages * self.milliseconds / 1e3 + 8 * size / (self.megabits * 1e6)

    def all_reduce_seconds(self, size: float, ranks: int) -> float:
        """Return the least time of a ring all-reduce of `size` bytes, if this is each link.

        A rank sends 2 (ranks - 1) messages, one after the other (Patarasuk and Yuan, 2009, JPDC).
        """
        return self.seconds(all_reduce_bytes(size, ranks), 2 * (ranks - 1))
