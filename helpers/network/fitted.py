"""Latency and bandwidth of this machine: fitted from message times, kept for later lessons."""

import json
from collections.abc import Mapping
from pathlib import Path

from helpers.files import write_whole
from helpers.network.link import Link

KEPT = Path(__file__).resolve().parents[2] / "build" / "network.json"
# Two processes on a virtual machine with two cores, by gloo over the loopback interface.
RECORDED = Link.of(alpha=44e-6, beta=1 / 3.8e9)


def fit(times: Mapping[float, float]) -> Link:
    """Return the link whose alpha + beta * size is nearest to the times of some messages.

    Each relative error counts the same, so that the short messages have a say in alpha: least
    squares of (alpha + beta * size) / seconds - 1.

    Args:
        times: {size in bytes: seconds of one message}.

    Raises:
        ValueError: if there are fewer than two sizes, or if longer messages aren't slower.
    """
    if len(times) < 2:
        raise ValueError("fit() needs the times of messages of two sizes or more: {bytes: seconds}")
    rows = [(1 / seconds, size / seconds) for size, seconds in times.items()]
    aa, ab, bb = (sum(row[i] * row[j] for row in rows) for i, j in ((0, 0), (0, 1), (1, 1)))
    a, b = (sum(row[i] for row in rows) for i in (0, 1))
    alpha, beta = (a * bb - b * ab) / (aa * bb - ab**2), (b * aa - a * ab) / (aa * bb - ab**2)
    if beta <= 0:
        raise ValueError(
            "longer messages were not slower, so no bandwidth can be fitted: measure larger sizes"
        )
    return Link.of(max(0.0, alpha), beta)


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
    except (OSError, ValueError, KeyError, TypeError, ZeroDivisionError):
        link = RECORDED
        whose = "Recorded on another machine (lesson 03 fits the numbers of yours)"
    return link, (
        f"{whose}: alpha = {1e6 * link.alpha:.0f} µs a message, 1/beta = {1e-9 / link.beta:.2g} "
        "GB/s."
    )
