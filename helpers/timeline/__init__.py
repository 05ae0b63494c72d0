"""The interactive timeline: one widget for real runs, simulations and other programs' traces.

    timeline(trace)                                  hover, zoom, keys
    timeline({"predicted": a, "measured": b})        several traces, one time axis
    explore(schedule="1F1B", ranks=4)                a schedule under sliders, simulated again
    timeline(trace).save("step.html")                one file that opens without Python

The widget is `timeline.js` on a canvas, and nothing is fetched from anywhere. Beyond 20,000 events,
save the trace and open it in https://ui.perfetto.dev.
"""

from importlib import import_module

# The widget needs anywidget, which a page in a browser doesn't have: it's imported when asked for.
__all__ = ["Timeline", "explore", "timeline"]


def __getattr__(name: str):
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.widget"), name)
