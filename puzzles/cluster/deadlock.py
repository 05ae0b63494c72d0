"""A deadlock in words, through helpers.waits."""

from cluster.errors import Deadlock
from helpers.waits import Wait, find_deadlock, sentence


def deadlock(cluster) -> Deadlock:
    """The error for ranks that wait in vain. Ranks that do not wait have ended."""
    waiting = [rank for rank in cluster.ranks if rank.waiting is not None]
    ended = [rank.number for rank in cluster.ranks if rank.waiting is None]
    waits = [
        Wait(rank.number, tuple(sorted(rank.waiting.needs())), rank.waiting.doing())
        for rank in waiting
    ]
    knot = find_deadlock(waits, ended)
    if knot is None:
        return Deadlock("deadlock: collectives of overlapping groups were started in two orders")
    return Deadlock(f"deadlock: {sentence(knot)}{_cure(knot)}", knot)


def _cure(knot) -> str:
    if knot.cycle:
        return ". Let one of them go another way: receive before it sends, or join the others"
    return ". All ranks of a group must make the same collectives, and each receive needs its send"
