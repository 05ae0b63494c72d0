"""Exercises that check themselves: one task, one process, its limits, one clear verdict.

    check("DP-1")                          in a notebook
    python -m helpers.grade DP-1           in a terminal; DP: a lab; 03: a lesson; nothing: all
    python -m helpers.grade --root FOLDER  another repository or a zip, with the checks of this one
    python -m helpers.grade --all FOLDER   many submissions, and tables of them
    python -m helpers.grade --limits       which limits hold on this system
    python -m helpers.grade.student        write the student edition
    python -m helpers.grade.handin LAB     pack what is to be handed in
    python -m helpers.grade.progress       the way through the lessons, and what is done
    python -m helpers.grade.page           write docs/tasks.md

Files, from the ground up: `words` cleans text; `marks` finds solutions in code; `task` says what a
task is, `labs` which belong together; `look` reads a file without running it, `signs` what a person
should look at. `copy` takes the work to a place of its own; `limits` says what it may use, `watch`
sees to it, and `confine` makes it a world without anything else; `held` shows what of that holds
here. In it `workshop` runs the work (`forked`: its ranks); `parcel` brings back plain data;
`workshop_client` and `submission` are the check's side of that. `judge` is the process that checks,
`judges` starts one, `warm` makes it a copy, `keep` ends what it leaves; `run` reads its verdict;
`verdict` shows it; `notebook` is `check`, `missing` tells a cell which task it lacks, `record` is
what is remembered, `progress` shows it. `card` is a task as text; `page` writes the lists of tasks,
with `problems`. For many: `submitted` opens folders and zips, `many` grades them, `tables` and
`html` show that; `example` makes a class to try it with. For the student edition, `tracked` lists
the files, `leaks` knows a solution when it sees one, `folder` writes safely, and `student` does it.

What it holds: the checks are the grader's own; the work runs where the judgement is not; a crash, a
hang, an early exit or anything printed is never a pass; nothing keeps running. On Linux the work
sees and changes nothing but a copy of itself, and has no network; elsewhere the verdict says that
this is not held. What it does not hold: work that calls the check's own computation gives right
answers (`signs` points at it).
"""

from helpers.grade.judge import grade
from helpers.grade.limits import Held, Limits
from helpers.grade.notebook import check
from helpers.grade.task import Mistake, PlantedMistake, Program, Task, TaskError, WorkFailed
from helpers.grade.verdict import Verdict

__all__ = [
    "Held",
    "Limits",
    "Mistake",
    "PlantedMistake",
    "Program",
    "Task",
    "TaskError",
    "Verdict",
    "WorkFailed",
    "check",
    "grade",
]
