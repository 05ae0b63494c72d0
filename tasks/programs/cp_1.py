"""CP-1: wrong work."""

from helpers.grade.task import Program

PROGRAMS = (
    Program("not safe", {"shift(m)": "m"}, says="-inf minus -inf"),
    Program("no Partial", "return one.o + other.o", says="must return a Partial"),
)
