"""Static pictures by matplotlib: timelines, curves and drawings, with alternative texts.

    ax = lanes(trace)
    curves({"one device": losses, "3 ranks": others}, floor=1.9)

Each returns a matplotlib Axes that a notebook shows, in the colors of its theme. Draw on it as on
any other, ``ax.axvline(24)``, and save it as ``ax.save("step.svg")``.

The palette is in `style`; the Axes, with its boxes, texts and arrows, in `picture`.
"""

from importlib import import_module

# Imported when asked for: who needs the palette alone doesn't wait for matplotlib. No file has the
# name of a function below, whose place it would take.
_FILES = {
    "picture": ("Picture",),
    "timelines": ("lanes",),
    "plots": ("bars", "curves"),
    "diagrams": ("cells", "grid", "ring", "who_waits"),
}
_HOME = {name: file for file, names in _FILES.items() for name in names}
__all__ = sorted(_HOME)


def __getattr__(name: str):
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
