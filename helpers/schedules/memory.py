"""How many activations a schedule keeps: an exact count, whatever the times are."""

from helpers.schedules.schedule import Schedule

UNTIL = {"backward": "BI", "weights": "BW"}


def in_flight(schedule: Schedule, until: str = "backward") -> list[int]:
    """For each rank, the most micro-batches whose activations it keeps at one time.

    Counted for each stage: two stages of a rank that keep one micro-batch are two. From F until

    until="backward": B or I, as the papers count in flight;
    until="weights": B or W, for what W needs is kept until W.
    """
    if until not in UNTIL:
        raise ValueError(f"in_flight(until={until!r}): choose 'backward' or 'weights'")
    most = []
    for actions in schedule.ranks:
        kept = highest = 0
        for kind, _, _ in actions:
            kept += (kind == "F") - (kind in UNTIL[until])
            highest = max(highest, kept)
        most.append(highest)
    return most
