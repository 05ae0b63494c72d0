"""Bars of estimates: what a device's memory is for, what a step's time is for."""

from collections.abc import Mapping

from helpers.words import time_text


def memory_bars(estimates: Mapping[str, object], title: str = ""):
    """Draw the memory of each estimate; the line is what the first one's device has."""
    from helpers.draw import bars  # matplotlib, where it is needed

    rows = {name: e.memory.named() for name, e in estimates.items()}
    machine = next(iter(estimates.values())).machine
    return bars(rows, title, limit=machine.memory, limit_name=f"{machine.name}:")


def time_bars(estimates: Mapping[str, object], title: str = ""):
    """Draw the time of each estimate's step; what is below 1 % in every row joins "rest"."""
    from helpers.draw import bars

    rows = {name: dict(e.causes) for name, e in estimates.items()}
    for cause in next(iter(rows.values())).copy():
        if cause != "rest" and all(r.get(cause, 0) < 0.01 * sum(r.values()) for r in rows.values()):
            for row in rows.values():
                row["rest"] = row.get("rest", 0.0) + row.pop(cause, 0.0)
    return bars(rows, title, text=time_text)
