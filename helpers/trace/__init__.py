"""What happened when on which rank: record it, keep it, measure it.

Start at `Recorder` (write events while they happen) and `Trace` (all of them, and files in and
out). `python -m helpers.trace` merges the files of several ranks.
"""

from helpers.trace.events import COLLECTIVES, KINDS, LANES, Counter, Event, Trace, lane_of
from helpers.trace.match import matched_collectives, matched_messages, with_waits
from helpers.trace.measure import (
    Shares,
    bubble,
    busy,
    busy_share,
    communicating,
    cut_by,
    idle,
    idle_by_cause,
    idle_share,
    in_lanes,
    is_pipeline,
    peak,
    shares,
    time_by_kind,
    tokens,
    tokens_per_second,
    waiting,
)
from helpers.trace.recorder import Recorder

# The former names, until the next release.
collectives, messages, utilisation = matched_collectives, matched_messages, busy_share

__all__ = [
    "COLLECTIVES",
    "KINDS",
    "LANES",
    "Counter",
    "Event",
    "Recorder",
    "Shares",
    "Trace",
    "bubble",
    "busy",
    "busy_share",
    "collectives",
    "communicating",
    "cut_by",
    "idle",
    "idle_by_cause",
    "idle_share",
    "in_lanes",
    "is_pipeline",
    "lane_of",
    "matched_collectives",
    "matched_messages",
    "messages",
    "peak",
    "shares",
    "time_by_kind",
    "tokens",
    "tokens_per_second",
    "utilisation",
    "waiting",
    "with_waits",
]
