"""Read packed timelines back: what the browser's `readModel` does before it sorts, in Python."""

import numpy as np
import pytest

from helpers.timeline.table import CODES


@pytest.fixture
def unpacked():
    """(head, body) -> for each part a list of events, each a dict of all its facts."""
    return lambda head, body: [read_part(part, body) for part in head["parts"]]


def column(place, body):
    kind, offset, count = place
    assert offset % 8 == 0, "a typed array would refuse this place"
    return np.frombuffer(body, dtype=f"<{CODES[kind]}", count=count, offset=offset)


def read_part(part, body):
    columns = {key: column(place, body) for key, place in part["columns"].items()}
    events = [
        {
            "rank": part["ranks"][rank],
            "kind": part["kinds"][kind]["kind"],
            "lane": part["lanes"][lane],
            "start": float(start),
            "end": float(end),
        }
        for rank, kind, lane, start, end in zip(*columns.values(), strict=True)
    ]
    for key, fact in part["facts"].items():
        values = column(fact["values"], body).tolist()
        if "words" in fact:
            words = column(fact["words"], body).tobytes().decode().split("\0")
            values = [words[value] for value in values]
        having = range(len(events)) if fact["at"] is None else column(fact["at"], body)
        for event, value in zip(having, values, strict=True):
            events[event][key] = value
    return events
