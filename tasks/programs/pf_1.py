"""PF-1: wrong work."""

from helpers.grade.task import Program

PROGRAMS = (Program("no check", {"number >= gpus": "False"}, says="so raise ValueError"),)
