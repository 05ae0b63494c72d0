"""The order of each rank's actions, each with its pair: of a schedule, and as recorded."""

from helpers.schedules.schedule import KINDS

FACTS = "stage", "micro_batch", "pair"


def planned(schedule):
    rows = (schedule.turns(rank) for rank in range(schedule.size))
    return [[(*a, _pair(turn)) for _, turn in row for a in turn] for row in rows]


def recorded(trace):
    rows = ([e for e in row if e.kind in KINDS] for row in trace.by_rank().values())
    return [[(e.kind, *map(e.info.get, FACTS)) for e in row] for row in rows]


def _pair(turn):
    return "&".join(map(str, turn)) if len(turn) > 1 else None
