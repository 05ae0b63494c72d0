"""Pipeline schedules as data: who computes what, in which order.

    schedule = check(one_f_one_b(stages=4, micro_batches=8))
    print(schedule)                  a line for each rank: F0 F1 F2 F3 B0 ...
    parse("rank 0: F0 B0 ...")       the same, written by hand
    messages(schedule)               what each rank sends and receives: it follows from the order

A schedule is run by the executor, simulated by `helpers.simulate`, and drawn from either's trace.
Whoever writes a new one writes a function like those in `builders`, and lets `check` judge it.
"""

from helpers.schedules.action import KINDS, Action
from helpers.schedules.builders import gpipe, naive, one_f_one_b, waves
from helpers.schedules.check import check, find_problem
from helpers.schedules.interleaved import breadth_first, interleaved
from helpers.schedules.memory import in_flight
from helpers.schedules.messages import (
    Message,
    crossed_links,
    messages,
    needed_stage,
    source_of,
    tag_of,
    target_of,
)
from helpers.schedules.problem import BadSchedule
from helpers.schedules.recorded import from_trace
from helpers.schedules.schedule import Schedule
from helpers.schedules.table import from_csv, load_csv, save_csv, to_csv
from helpers.schedules.text import parse, to_text
from helpers.schedules.v_shape import zb_v
from helpers.schedules.zero_bubble import zb_h1, zb_h2

__all__ = [
    "KINDS",
    "Action",
    "BadSchedule",
    "Message",
    "Schedule",
    "breadth_first",
    "check",
    "crossed_links",
    "find_problem",
    "from_csv",
    "from_trace",
    "gpipe",
    "in_flight",
    "interleaved",
    "load_csv",
    "messages",
    "naive",
    "needed_stage",
    "one_f_one_b",
    "parse",
    "save_csv",
    "source_of",
    "tag_of",
    "target_of",
    "to_csv",
    "to_text",
    "waves",
    "zb_h1",
    "zb_h2",
    "zb_v",
]
