"""Exercises that check themselves: one task, one process, its limits, one clear verdict.

    check("DP-1")                          in a notebook
    python -m helpers.grade DP-1           in a terminal; DP: a lab; 03: a lesson; nothing: all
    python -m helpers.grade --root FOLDER  another repository or a zip, with the checks of this one
    python -m helpers.grade --all FOLDER   a class: one table
    python -m helpers.grade … --json       the same as one document, for a container or a program
    python -m helpers.grade --limits       which limits hold on this system
    python -m helpers.grade.student        write the student edition
    python -m helpers.grade.progress       the way through the lessons, and what is done
    python -m helpers.grade.page           write docs/tasks.md

A task is one file, tasks/x.py (tasks/README.md has the contract); `shown` is the part that the
process of the work sees, and `reference` runs the solution and its mutants elsewhere. `judge` draws
cases, lets a `submission` observe them and `verify` compare; no line of any work runs in its
process. `workshop` is the process in which the work runs, one for each
submission, on Linux inside a `sandbox`; `payload` carries plain data between the two, `limits` and
`processes` hold what the work takes. `kept` keeps a judge for a kernel, `notebook` is `check`, and
`verdict` what it shows; `written` adds to a pass the student's lines, and one way to write them.

Before anything runs: `marks` finds solutions in code, `task` says what a task is and which belong
together; `look` reads a file without running it, and `copy` takes the work to a place of its own.
For a student: `missing` tells a cell which task it lacks, `record` is what is remembered,
`progress` shows it. For a class: `submitted` opens folders and zips, `many` grades them, `tables`
shows that. `page` writes the lists of tasks, and one task as text. The student edition:
`tracked` lists the files, `shown` leaves out what only the judge sees, `leaks` recognizes a
solution, `folder` writes safely, `student` does it. `words` cleans text.

What is held: the work runs where the judgement isn't made; a crash, a hang, an early exit or
anything printed is never a pass; nothing keeps running. On Linux with bubblewrap the work sees and
changes nothing but a copy of itself, has no network, and what tasks expect isn't there; elsewhere,
and in a notebook, where it is the student's own, the verdict says which of these aren't held.
"""

from helpers.grade.notebook import check
from helpers.grade.task import Task

__all__ = ["Task", "check"]
