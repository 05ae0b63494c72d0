"""What happened when on which rank: record it, keep it, measure it.

Start at `Recorder` (write events while they happen) and `Trace` (all of them, and files in and
out). `python -m helpers.trace` merges the files of several ranks.
"""

from helpers.trace.events import COLLECTIVES, LANES, Counter, Event, Trace
from helpers.trace.match import matched_collectives, matched_messages, with_waits
from helpers.trace.measure import (
    Shares,
    bubble,
    busy,
    cut_by,
    has_finished,
    idle,
    idle_by_cause,
    in_lanes,
    last_steps,
    peak,
    shares,
)
from helpers.trace.recorder import Recorder
