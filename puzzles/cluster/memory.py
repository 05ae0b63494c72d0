"""The most memory of each rank, messages included that have come and are not taken yet."""

from bisect import bisect_right
from itertools import accumulate

from cluster.errors import OutOfMemory


def fullest(cluster) -> tuple[float, int, float]:
    """(the most memory of any rank, the first rank that has it, when). Raises OutOfMemory."""
    found = (0.0, 0, 0.0)
    for rank in cluster.ranks:
        parked = [each for channel in rank.incoming.values() for each in channel.parked]
        memory, when = _most(rank, parked)
        if memory > rank.profile.limit:
            raise OutOfMemory(
                f"rank {rank.number} runs out of memory at {when:.4g} s: with the messages that "
                f"have come and that it has not received, it would hold {memory / 1e9:.1f} GB, and "
                f"the card has {rank.profile.limit / 1e9:.1f} GB"
            )
        if memory > found[0]:
            found = (memory, rank.number, when)
    return found


def _most(rank, parked: list[tuple[float, float, float]]) -> tuple[float, float]:
    """(the most memory of a rank, when)."""
    moments = [(event[4], event[2]) for event in rank.log]
    if not rank.profile.in_storage:
        moments.append((rank.peak, rank.peak_time))
    if parked:
        come, gone = _sums(parked, 0), _sums(parked, 1)
        moments = [(held + _at(come, time) - _at(gone, time), time) for held, time in moments]
    return max(moments, key=lambda moment: moment[0], default=(0.0, 0.0))


def _sums(parked: list, which: int) -> tuple[list[float], list[float]]:
    """Times in order, and how many bytes have come (0) or gone (1) until each."""
    ordered = sorted((each[which], each[2]) for each in parked)
    return [time for time, _ in ordered], [0.0, *accumulate(size for _, size in ordered)]


def _at(sums: tuple[list[float], list[float]], time: float) -> float:
    times, totals = sums
    return totals[bisect_right(times, time)]
