"""Homework: `check("DP-1")` runs a student's function on real ranks and says what is wrong with it.

    check("DP-1")                    in a notebook; check("DP-1", hint=1) gives a nudge
    solve("DP-1")                    write the solution into the script; yours stays beside it
    python -m helpers.check [DP-1 …] in a terminal; a lab (DP), a lesson (03); nothing: all tasks
    python -m helpers.check --all FOLDER --out grades.csv [DP …]
                                     a class: a row for each folder or zip
    python -m helpers.check --progress the way through the lessons, and what is done
    python -m helpers.check.student  write a student's copy of the lab

A task is one file, tasks/dp_1.py, or one of TASKS in a table of a whole lab, tasks/pz.py;
tasks/README.md lists what it may define. Its solution stands between marks in the script (`marks`).
Solution and work run in one launch (`ranks`), and only if they differ (`compare`) a second one runs
all mutants: the sentence of the mutant that leads to the same observation is the verdict. A check
trusts who wrote the work: grade a class in a container.
"""

from helpers.check.compare import same
from helpers.check.judge import check
from helpers.check.notebook import solve
from helpers.check.task import Task
from helpers.check.verdict import Score

__all__ = ["Score", "Task", "check", "same", "solve"]
