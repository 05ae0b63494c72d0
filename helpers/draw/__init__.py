"""Static pictures: timelines and curves, as SVG and PNG with alternative text.

    timeline(trace).save("step.svg")
    curves({"one device": losses, "3 ranks": others}, floor=1.9)

Files, from the ground up:

    style, text            the palette that all pictures and the widget share; widths and numbers
    picture, png           shapes on a `Canvas`, and the `Picture` that becomes a file
    lanes, findings        one lane of a timeline and its legend; what traces show, in words
    timeline               one trace, or several on one scale
    plot, curves, points   axes and lines; the loss of several runs; what methods cost and reach
    arcs, collectives      who waits for whom; what each rank holds before and after
    all_reduce, replicas   star, tree and ring, step by step; a data-parallel step
    stages, drift          a model cut into stages; local steps and their mean
    pipelines              what a pipeline keeps, how its steps fit together, where its stages lie
    grid, experts          the process grid; which token goes to which expert
    context                a cut sequence: the ring of keys, and the causal triangle

It's pure Python: only a PNG needs matplotlib.
"""

from helpers.draw.all_reduce import ring, ring_table, ways
from helpers.draw.arcs import Arrow, Node, arcs
from helpers.draw.collectives import collectives
from helpers.draw.curves import curves
from helpers.draw.findings import found
from helpers.draw.grid import process_grid
from helpers.draw.picture import Canvas, Picture
from helpers.draw.points import Point, points
from helpers.draw.replicas import replicas
from helpers.draw.timeline import compare, timeline

# The former name, until the next release.
Row = Node

__all__ = [
    "Arrow",
    "Canvas",
    "Node",
    "Picture",
    "Point",
    "Row",
    "arcs",
    "collectives",
    "compare",
    "curves",
    "found",
    "points",
    "replicas",
    "ring",
    "ring_table",
    "process_grid",
    "timeline",
    "ways",
]
