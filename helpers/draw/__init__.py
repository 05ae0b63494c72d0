"""Static pictures: timelines, curves and drawings, as SVG and PNG with alternative text.

    timeline(trace).save("step.svg")
    curves({"one device": losses, "3 ranks": others}, floor=1.9)

Files, from the ground up:

    style, text            a color for each cause, the same everywhere; widths and numbers
    picture, svg, png      shapes on a `Canvas`, and the `Picture` that becomes a file
    themed                 one picture for a light page and a dark one
    lanes, findings        one lane of a timeline and its legend; what traces show, in words
    traces                 one trace, or several on one scale
    axes, plot             where a value lies, what a tick says; curves and their names
    runs, scatter          the loss of several runs; what methods cost and reach
    graph, waits           rows with arrows between them; who waits for whom
    held                   what each rank holds before and after a collective
    all_reduce             star, tree and ring, step by step
    data_parallel, drift   a data-parallel step; local steps and their mean
    stages, pipelines      a model cut into stages; what a pipeline keeps, how its steps fit
    grid, experts          the process grid; which token goes to which expert
    machines               which of its messages leave a machine
    formats                numbers bit by bit, and the range of each format
    context                a cut sequence: the ring of keys, and the causal triangle

It's pure Python: only a PNG needs matplotlib.
"""

from importlib import import_module

# A page in a browser waits for every import, so each name is imported when it is asked for. No file
# has the name of a function below: importing the file would put it in the function's place.
_MODULES = {
    "Arrow": "graph",
    "Canvas": "picture",
    "Node": "graph",
    "Picture": "picture",
    "Point": "scatter",
    "arcs": "graph",
    "collectives": "held",
    "compare": "traces",
    "curves": "runs",
    "found": "findings",
    "points": "scatter",
    "process_grid": "grid",
    "replicas": "data_parallel",
    "ring": "all_reduce",
    "ring_table": "all_reduce",
    "timeline": "traces",
    "ways": "all_reduce",
    "who_waits": "waits",
}

__all__ = list(_MODULES)


def __getattr__(name: str):
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
