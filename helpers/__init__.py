"""What the lessons and the scripts share: traces, pictures, ranks, schedules, checks.

Each package here does one job, and imports only from the packages before it:

files, record, words, private, trace, waits, cost, schedules, grid, simulate, search, hang, ranks,
network, pipeline, parallel, checkpoint, draw, cluster, oracle, timeline, demo, doctor, play,
skipped, grade, lesson.

What a package mustn't import, because it comes later, is hooked in here: the references of skipped
tasks into the ranks, and into a notebook the drawing of what the ranks only report.

None of them depends on the models in ``simplellm``, and ``simplellm`` depends on none of them.
"""

import os
import sys


def begin() -> None:
    """Do what the environment asks for: at the first import, and in each rank before its job."""
    if os.environ.get("LAB_SKIP"):  # a lesson has skipped a task
        from helpers.skipped import install

        install()


def code_in_place_of(script: str):
    """Return the code to run in place of a script; None: its own. `helpers.skipped` replaces it."""
    return None


begin()
if shell := "IPython" in sys.modules and sys.modules["IPython"].get_ipython():
    from helpers.draw.waits import draw_in

    draw_in(shell)
