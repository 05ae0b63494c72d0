"""Goodput: the share of the time whose work counts, when devices fail.

Failures come at random, independently of each other, and take one device each. The simulation jumps
from failure to failure, so a million devices take no longer than ten.
"""

from dataclasses import dataclass
from random import Random

YEAR = 365 * 24 * 3600.0


@dataclass(frozen=True)
class Failures:
    """So many devices, each of which works for so many years on average before it fails."""

    devices: int
    years: float

    @property
    def seconds(self) -> float:
        """The mean time from one failure to the next, of any device."""
        return self.years * YEAR / self.devices


def restarting(
    between: float, every: float, save: float, restart: float, failures: int = 4000, seed: int = 0
) -> float:
    """Simulate a job that goes back to its last checkpoint at each failure; return its goodput.

    between, every: seconds from failure to failure, from checkpoint to checkpoint. save: seconds
    that training stands still for one. A failure may come during the restart, which begins again.
    """
    random, clock, useful = Random(seed), 0.0, 0.0
    for _ in range(failures):
        alive = random.expovariate(1 / between)
        clock += alive
        useful += every * (max(0.0, alive - restart) // (every + save))
    return useful / clock
