"""The static pictures: timelines and curves, as SVG and PNG with alternative text.

    timeline(trace).save("step.svg")
    curves({"one device": losses, "3 ranks": others}, floor=1.9)

Drawing code fills a `Canvas` with shapes; `Picture` makes files of it. `style` holds the palette
that every picture and the interactive widget share.
"""

from helpers.draw.arcs import Arrow, Row, arcs
from helpers.draw.canvas import Canvas
from helpers.draw.collectives import collectives
from helpers.draw.curves import curves
from helpers.draw.picture import Picture
from helpers.draw.timeline import compare, timeline
from helpers.draw.words import found

__all__ = [
    "Arrow",
    "Canvas",
    "Picture",
    "Row",
    "arcs",
    "collectives",
    "compare",
    "curves",
    "found",
    "timeline",
]
