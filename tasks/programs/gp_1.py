"""GP-1: wrong work."""

from helpers.grade.task import Program

PROGRAMS = (
    Program("parts overlap", {"[0, *ends[:-1]]": "[0] * len(ends)"}, says="is in two parts"),
)
