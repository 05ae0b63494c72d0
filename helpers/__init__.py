"""What the lessons and the scripts share: traces, pictures, ranks, schedules, checks.

Each package here does one job, and imports only from the packages before it:

files, skipped, trace, draw, waits, cost, schedules, grid, simulate, search, cluster, hang, ranks,
network, pipeline, parallel, oracle, checkpoint, timeline, demo, doctor, grade, play, lesson.

None of them depends on the models in ``simplellm``, and ``simplellm`` depends on none of them.
"""

import os

if os.environ.get("LAB_SKIP"):  # a lesson has skipped a task: see helpers/skipped.py
    from helpers.skipped import install

    install()
