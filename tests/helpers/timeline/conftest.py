"""Read packed timelines back: what the browser's `readModel` does, in Python."""

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
    facts = {key: (fact, column(fact["at"], body)) for key, fact in part["facts"].items()}
    words = {
        key: column(fact["words"], body).tobytes().decode().split("\0")
        for key, (fact, _) in facts.items()
        if fact["type"] == "text"
    }
    events = []
    for i in range(len(columns["start"])):
        event = {
            "rank": part["ranks"][columns["rank"][i]],
            "kind": part["kinds"][columns["kind"][i]]["kind"],
            "lane": part["lanes"][columns["lane"][i]],
            "start": float(columns["start"][i]),
            "end": float(columns["end"][i]),
        }
        for key, (fact, values) in facts.items():
            value = values[i]
            if fact["type"] == "float":
                if value == value:
                    event[key] = float(value)
            elif value != fact["missing"]:
                event[key] = words[key][value] if fact["type"] == "text" else int(value)
        events.append(event)
    return events
