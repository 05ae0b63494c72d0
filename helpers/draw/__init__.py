"""Static pictures by matplotlib: timelines, curves and drawings, with alternative texts.

    ax = lanes(trace)
    curves({"one device": losses, "3 ranks": others}, floor=1.9)

Each returns a matplotlib Axes that a notebook shows, in the colors of its theme. Draw on it as on
any other, ``ax.axvline(24)``, and save it as ``ax.save("step.svg")``.

    style        a color for each cause, the same everywhere
    picture      the Axes that shows itself; boxes, texts, arrows and a legend on it
    findings     what traces show, in words
    rows         what stands where in a timeline; timelines: one trace, or several on one axis
    plots        curves and bars
    diagrams     tables of cells, the ring, who waits for whom
    themed       whether a kernel runs; waits: what a notebook does with a report of ranks
"""

from importlib import import_module

# A page or a terminal that needs the palette alone doesn't wait for matplotlib: each name is
# imported when it is asked for. No file has the name of a function below: importing the file would
# put it in the function's place.
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
