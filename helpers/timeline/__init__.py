"""The interactive timeline: one widget for real runs, simulations and other programs' traces.

    timeline(trace)                          zoom, hover, step, play, follow a micro-batch
    compare(predicted, measured)             two traces, one time axis
    explore(stages=4, micro_batches=8)       a schedule under sliders, simulated as they move
    timeline(trace).save("step.html")        one file that opens without Python

The widget is plain JavaScript on a canvas, in `assets/`. Nothing is fetched from anywhere.
"""

from helpers.timeline.explorer import Explorer, explore
from helpers.timeline.widget import Timeline, compare, timeline

__all__ = ["Explorer", "Timeline", "compare", "explore", "timeline"]
