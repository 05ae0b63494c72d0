"""A link between two machines: its bandwidth and its latency, given or fitted."""

import math
from collections.abc import Mapping
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
            each; "tree", in which half of the ranks that are left send theirs on in each step, to
            rank 0 and back. Star and tree send whole tensors.
        """
        tree = 2 * (ranks - 1).bit_length()
        steps = {"ring": 2 * (ranks - 1), "star": 2 * (ranks - 1), "tree": tree}[way]
        size = all_reduce_bytes(size, ranks) if way == "ring" else steps * size
        return self.seconds(size, steps)


def fit(times: Mapping[float, float]) -> Link:
    """Return the link whose alpha + beta * size is nearest to the times of some messages.

    Each relative error counts the same, so that the short messages have a say in alpha: least
    squares of (alpha + beta * size) / seconds - 1. times: {size in bytes: seconds of one message}.

    Raises:
        ValueError: if there are fewer than two sizes, or if longer messages aren't slower.
    """
    import numpy as np

    rows = np.array([(1 / seconds, size / seconds) for size, seconds in times.items()])
    alpha, beta = np.linalg.lstsq(rows, np.ones(len(rows)))[0] if len(rows) > 1 else (0.0, 0.0)
    if beta <= 0:
        raise ValueError(
            "longer messages were not slower, so no bandwidth can be fitted: measure two sizes or "
            "more, and larger ones"
        )
    return Link.of(max(0.0, float(alpha)), float(beta))
