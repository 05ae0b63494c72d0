"""What the lessons and the scripts share: traces, pictures, ranks, schedules, checks.

The package is a row of rooms. Each does one job, and imports only from the rooms before it:

files, trace, draw, waits, cost, schedules, grid, simulate, search, cluster, hang, ranks, network,
pipeline, parallel, oracle, checkpoint, timeline, doctor, grade, lesson.

No room knows anything of the models in ``simplellm``, and ``simplellm`` knows nothing of them.
"""
