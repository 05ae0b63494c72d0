"""CP-3: wrong work."""

from helpers.grade.task import Program

PROGRAMS = (
    Program("the next half", {"2 * ranks - 1 - rank": "rank + ranks"}, says="mirror image"),
)
