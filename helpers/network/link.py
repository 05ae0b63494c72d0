"""A link between two machines: its bandwidth and its latency, given or fitted."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from helpers.cost import all_reduce_bytes
from helpers.files import write_whole

KEPT = Path(__file__).resolve().parents[2] / "build" / "network.json"


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


# Two processes on a virtual machine with two cores, by gloo over the loopback interface.
RECORDED = Link.of(alpha=44e-6, beta=1 / 3.8e9)


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


def remember(link: Link, path: Path = KEPT) -> Path:
    """Keep this machine's link for later lessons, and return the file that holds it."""
    return write_whole(path, json.dumps({"alpha": link.alpha, "beta": link.beta}) + "\n")


def measured(path: Path = KEPT) -> tuple[Link, str]:
    """Return the link between two ranks of this machine, and one sentence that says whose it is.

    It's what lesson 03 has fitted here, or else what was recorded on another machine.
    """
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        link, whose = Link.of(kept["alpha"], kept["beta"]), "Fitted on this machine in lesson 03"
    except (OSError, ValueError, KeyError):
        link = RECORDED
        whose = "Recorded on another machine (lesson 03 fits the numbers of yours)"
    return link, (
        f"{whose}: alpha = {1e6 * link.alpha:.0f} µs a message, 1/beta = {1e-9 / link.beta:.2g} "
        "GB/s."
    )
