"""The schedule that a trace shows: what real ranks did, in the order in which they did it."""

from helpers.schedules.action import KINDS, Action
from helpers.schedules.schedule import Schedule
from helpers.trace import Trace


def from_trace(trace: Trace, name: str = "as recorded") -> Schedule:
    """The order of a trace's F, B, I and W events; ``from_trace(run).ranks == schedule.ranks``.

    Raises ValueError for a trace whose F, B, I and W do not all name stage and micro-batch.
    """
    rows = {rank: [] for rank in range(max(trace.ranks, default=-1) + 1)}
    for rank, events in trace.by_rank().items():
        for event in events:
            if event.kind in KINDS:
                stage, micro_batch = event.info.get("stage"), event.info.get("micro_batch")
                if stage is None or micro_batch is None:
                    raise ValueError(
                        f"the trace shows no schedule: {event.kind} on rank {rank} at "
                        f"{event.start:g} s does not name its stage and its micro-batch"
                    )
                rows[rank].append(Action(event.kind, stage, micro_batch))
    return Schedule(name, rows.values())
