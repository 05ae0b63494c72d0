"""What the lessons and the scripts share: traces, pictures, ranks, schedules, checks.

Each package here does one job, and imports only from the packages before it:

files, syllabus, record, words, private, trace, waits, cost, schedules, grid, simulate, search,
hang, ranks, network, pipeline, parallel, checkpoint, draw, cluster, oracle, timeline,
doctor, play, check, lesson.

What comes later is hooked in here: into a notebook the drawing of what ranks only report.
"""

import sys

if shell := "IPython" in sys.modules and sys.modules["IPython"].get_ipython():
    from helpers.draw.waits import draw_in

    draw_in(shell)
