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
        if not (0 < self.megabits < math.inf and 0 <= self.milliseconds < math.inf):
            raise ValueError(
                f"a link cannot have {self.megabits:g} megabits per second and a delay of "
                f"{self.milliseconds:g} milliseconds: give a bandwidth above 0, such as 1000 for "
                "gigabit Ethernet, and a delay of 0 or more"
            )

    @classmethod
    def of(cls, alpha: float, beta: float) -> "Link":
        """Return the link that takes `alpha` seconds a message and `beta` seconds a byte."""
        return cls(megabits=8e-6 / beta, milliseconds=1e3 * alpha)

    @property
    def alpha(self) -> float:
        """Return the latency: seconds of a message, however short it is."""
        return self.milliseconds / 1e3

    @property
    def beta(self) -> float:
        """Return the seconds that each byte takes: 1 over the bandwidth."""
        return 8e-6 / self.megabits

    def seconds(self, size: float, messages: int = 1) -> float:
        """Return how long `size` bytes take in `messages` messages, one after the other."""
        return messages * self.alpha + size * self.beta

    def all_reduce_seconds(self, size: float, ranks: int, way: str = "ring") -> float:
        """Return the least time of an all-reduce of `size` bytes, if this is each link.

        way: "ring", in which a rank sends 2 (ranks - 1) parts, one after the other (Patarasuk and
            Yuan, 2009, JPDC); "star", in which rank 0 receives all tensors and sends the sum to
            each; "tree", in which half of the ranks that are left send theirs on in each step.
            Star and tree send whole tensors.

        Raises:
            ValueError: if there is no such way.
        """
        steps = {"ring": 2 * (ranks - 1), "star": 2 * (ranks - 1), "tree": tree_steps(ranks)}
        if way not in steps:
            raise ValueError(f"no way {way!r} to all-reduce: choose {', '.join(map(repr, steps))}")
        size = all_reduce_bytes(size, ranks) if way == "ring" else steps[way] * size
        return self.seconds(size, steps[way])


def tree_steps(ranks: int) -> int:
    """Return the steps of an all-reduce by a tree: to rank 0, and back to all."""
    return 2 * (ranks - 1).bit_length()
