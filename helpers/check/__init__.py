"""Homework: `check("DP-1")` runs a student's function on real ranks and says what is wrong with it.

    check("DP-1")                    in a notebook; check("DP-1", hint=1) gives a nudge
    solve("DP-1")                    write the reference into the script; yours stays beside it
    python -m helpers.check [DP-1 …] in a terminal; a lab (DP), a lesson (03); nothing: all tasks
    python -m helpers.check --all FOLDER --out grades.csv [DP …]
                                     a class: a row for each folder or zip
    python -m helpers.check --progress the way through the lessons, and what is done
    python -m helpers.check.student  write a student's copy of the lab

A task is one file, tasks/dp_1.py; or one of TASKS in a table of a whole lab, tasks/pz.py. It holds

    LESSON, MINUTES …    the facts: see `Task`. The title is the first line of the file
    observe(module, case)  on each rank: call the work, return what came of it as plain data
    cases()              a list of inputs, drawn from `random` and torch, which are seeded
    MUTANTS              {how the solution is changed to make a mistake: the sentence about it}: a
                         pair ("a piece", "what takes its place"), several pairs, or a whole body

and, only where it needs it,

    explain(case, seen)  a sentence from the facts of a wrong observation, or None. Where many
                         answers are right it stands without MUTANTS, and None means right
    NAME                 a few words for a case, before a sentence on it: "{world} ranks", made of
                         what stands in the case; without it a case may have a "name"
    STOPPED              {a pattern: what to say first of work that stopped with such a sentence}
    stuck(waits)         a sentence for work that hung: (rank, operation, peer) of each that waits
    passed(cases, seen)  the `Score` of a pass
    TOLERANCE            relative; else 1e-5 for float32, and 1e-9 for float64 and Python's floats

An observation is plain data: dicts, lists, numbers, text, tensors. What stands below a key that
begins with "_" isn't compared; it's there for `explain`. With `ranks`, it's a list of one a rank.
The solution stands between marks in the script (`marks`). Solution and work run in one launch
(`ranks`), and only if they differ (`compare`) a second one runs all mutants: the sentence of the
mutant that leads to the same observation is the verdict. A check trusts who wrote the work: grade
a class in a container.
"""

from helpers.check.compare import same
from helpers.check.judge import check
from helpers.check.solving import solve
from helpers.check.task import Task
from helpers.check.verdict import Score

__all__ = ["Score", "Task", "check", "same", "solve"]
