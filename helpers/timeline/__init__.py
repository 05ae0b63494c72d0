"""The interactive timeline: one widget for real runs, simulations and other programs' traces.

    timeline(trace)                          zoom, hover, step, play, follow a micro-batch
    compare(predicted, measured)             two traces, one time axis
    explore(stages=4, micro_batches=8)       a schedule under sliders, simulated as they move
    timeline(trace).save("step.html")        one file that opens without Python

The widget is plain JavaScript on a canvas, in `assets/`. Nothing is fetched from anywhere.

    page                  looks, the ES module, and the page that is saved
    table, simulated      a trace as columns and bytes; the same of a simulated step, faster
    settings              what the sliders of a schedule say, and what is drawn for it
    widget, explorer      the widget; the same under sliders
    clicks                pictures that lead to each other, step by step or by a click on a part
"""

from importlib import import_module

# The widget needs anywidget and traitlets, which a page in a browser doesn't have: each name is
# imported when it is asked for.
_MODULES = {
    "Clickable": "clicks",
    "Explorer": "explorer",
    "Timeline": "widget",
    "compare": "widget",
    "explore": "explorer",
    "timeline": "widget",
}

__all__ = ["Clickable", "Explorer", "Timeline", "compare", "explore", "timeline"]


def __getattr__(name: str):
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
