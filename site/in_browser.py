"""What the explorer's page asks the Python in the browser, and its answer: data in, data out.

answered('{"settings": {…}}') and answered('{"hash": "ranks=8"}')    -> JSON
"""

import json
from urllib.parse import parse_qsl, urlencode

from helpers.schedules import SCHEDULES
from helpers.timeline.packed import packed
from helpers.timeline.sliders import SLIDERS, START, controls, simulated

VALUES = {"schedule": list(SCHEDULES)} | {name: each[2] for name, each in SLIDERS.items()}


def answered(text: str) -> str:
    """Answer one question: the timeline of these settings, or why there's none; never raises."""
    question = json.loads(text)
    settings = START | question.get("settings", {})
    try:
        settings |= settings_of(question.get("hash", ""))
        said = {"data": packed({"": simulated(settings).trace}), "problem": ""}
        changed = {name: word(value) for name, value in settings.items() if value != START[name]}
        said["hash"] = urlencode(changed)
    except (ValueError, TypeError) as error:
        said = {"problem": str(error)}
    if "hash" in question:
        said |= {"controls": controls(settings), "settings": settings}
    return json.dumps(said)


def settings_of(text: str) -> dict:
    """Return the settings at the end of an address, as a link or a hand has written them."""
    found = {}
    for name, said in parse_qsl(text.lstrip("#"), keep_blank_values=True):
        known = {word(value): value for value in VALUES.get(name, ())}
        if said not in known:
            words = f"no slider has {name[:40]}={said[:40]}"
            raise ValueError(f"{words}: move one, and see the address")
        found[name] = known[said]
    return found


def word(value: object) -> str:
    return "none" if value is None else str(value)
