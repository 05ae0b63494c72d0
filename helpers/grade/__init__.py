"""Exercises that check themselves: one task, one process, one time limit, one clear verdict.

    check("DP-1")                          in a notebook
    python -m helpers.grade DP-1           in a terminal; without a task, all of them
    python -m helpers.grade --root FOLDER  another repository, with the checks of this one
    python -m helpers.grade.student        write the student edition

Files, from the ground up: `marks` finds solutions in code; `task` says what a task is; `look`
reads a file without running it; `submission` hands the work inputs on real ranks; `judge` is the
process that checks; `tree` ends processes; `run` starts the judge and reads its verdict;
`verdict` shows it; `notebook` is `check`. For the student edition, `tracked` lists the files,
`leaks` knows a solution when it sees one, `folder` writes safely, and `student` does it.

What it holds: the checks are the grader's own; the work runs in other processes than the judgement;
a crash, a hang, an early exit or anything printed is never a pass; nothing keeps running. What it
does not hold: the work runs as the same user, without a limit on memory, files or network, so work
that sets out to do harm must be graded on a machine made for that.
"""

from helpers.grade.notebook import check
from helpers.grade.run import grade
from helpers.grade.submission import Submission, WorkFailed
from helpers.grade.task import Mistake, PlantedMistake, Task, TaskError
from helpers.grade.verdict import Verdict

__all__ = [
    "Mistake",
    "PlantedMistake",
    "Submission",
    "Task",
    "TaskError",
    "Verdict",
    "WorkFailed",
    "check",
    "grade",
]
