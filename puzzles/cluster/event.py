"""What stands in the log of a rank."""

from typing import NamedTuple


class Event(NamedTuple):
    """Something that a rank did. time, duration: in the profile's unit. memory: in its unit."""

    typ: str
    layer: int | None
    rank: int
    time: float
    duration: float
    memory: float
    samples: frozenset[int] = frozenset()
