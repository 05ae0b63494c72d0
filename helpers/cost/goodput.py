"""Goodput: the share of the time whose work counts, when devices fail.

    between = Failures(devices=16_384, years=5.8).seconds      11,160 s: one fails every three hours
    every = young(save=30, between=between)                    818 s from one checkpoint to the next
    restarting(between, every, save=30, restart=300)           0.90, simulated failure by failure
    leaving(between, groups=128, stall=20, back=300)           replicas that leave and return
    leaving(between, groups=8, stall=0, back=300, lost=60)     learners that wait for nobody

Failures come at random, independently of each other, and take one device each. The simulations jump
from failure to failure, so a million devices take no longer than ten.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

YEAR = 365 * 24 * 3600.0
FAILURES = 4000  # of a simulation


@dataclass(frozen=True)
class Failures:
    """So many devices, each of which works for so many years on average before it fails."""

    devices: int
    years: float

    @property
    def seconds(self) -> float:
        """The mean time from one failure to the next, of any device."""
        return self.years * YEAR / self.devices


def young(save: float, between: float) -> float:
    """Return the interval between checkpoints that loses least time, in seconds (Young, 1974).

    save: seconds that training stands still for a checkpoint. between: from failure to failure.
    """
    return math.sqrt(2 * save * between)


def restarting(
    between: float,
    every: float,
    save: float,
    restart: float,
    failures: int = FAILURES,
    seed: int = 0,
) -> float:
    """Simulate a job that goes back to its last checkpoint at each failure; return its goodput.

    A failure may also come during the restart, which then begins again.
    """
    random, clock, useful = Random(seed), 0.0, 0.0
    for _ in range(failures):
        alive = random.expovariate(1 / between)
        clock += alive
        useful += every * (max(0.0, alive - restart) // (every + save))
    return useful / clock


def leaving(
    between: float,
    groups: int,
    stall: float,
    back: float,
    lost: float = 0.0,
    failures: int = FAILURES,
    seed: int = 0,
) -> float:
    """Simulate groups of devices of which each failure takes one away; return the goodput.

    Args:
        between: seconds from one failure to the next, of any device.
        groups: replicas or learners; the goodput is 1 while all of them compute.
        stall: seconds that *all* groups stand still at each failure, until they know who is left.
        back: seconds until the group that has failed computes again.
        lost: seconds of its work that nobody has, at most; any share of it is as likely.
        failures, seed: how long to simulate, and with which failures.
    """
    random, clock = Random(seed), 0.0
    faults = []
    for _ in range(failures):
        clock += random.expovariate(1 / between)
        faults.append((clock, random.randrange(groups), back + lost * random.random()))
    return share_at_work(faults, groups, clock, stall)


def three_ways(
    sizes: Sequence[float],
    years: float = 5.8,
    save: float = 30,
    restart: float = 300,
    stall: float = 20,
    back: float = 300,
    lost: float = 60,
    replica: float = 128,
    learners: int = 8,
    failures: int = FAILURES,
) -> dict[str, dict[float, float]]:
    """Return the goodput of three ways to live with failures: {way: {devices: goodput}}.

    Restarting saves at Young's interval. Elastic replicas of `replica` devices stall together at
    each failure, and one of them is away. Learners don't stall; one is away and loses work.
    """
    ways: dict[str, dict[float, float]] = {
        "restart": {},
        "elastic replicas": {},
        f"{learners} learners": {},
    }
    for n in sizes:
        m = Failures(int(n), years).seconds
        found = (
            restarting(m, young(save, m), save, restart, failures),
            leaving(m, max(2, int(n / replica)), stall, back, failures=failures),
            leaving(m, learners, 0, back, lost, failures),
        )
        for way, share in zip(ways.values(), found, strict=True):
            way[n] = share
    return ways


def share_at_work(
    faults: Sequence[tuple[float, int, float]], groups: int, seconds: float, stall: float = 0.0
) -> float:
    """Return the share of `groups` x `seconds` in which groups compute.

    faults: (when, group, seconds that this group is away), in the order of time. A group that is
        hit while it's away is away until the later end.
    """
    away_until = [0.0] * groups
    away = standing = 0.0  # seconds of all groups; seconds in which all stand still
    still_until = 0.0
    for when, group, gone in faults:
        ends = min(seconds, when + gone)
        begins = max(when, away_until[group])
        away += max(0.0, ends - begins)
        away_until[group] = max(away_until[group], ends)
        still = min(seconds, when + stall)
        standing += max(0.0, still - max(when, still_until))
        still_until = max(still_until, still)
    return max(0.0, 1 - away / (groups * seconds)) * (1 - standing / seconds)
