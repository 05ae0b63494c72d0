"""LA-3: wrong work."""

from helpers.grade.task import Program

PROGRAMS = (
    Program("a cable for each message", {" * leaving.count(host)": ""}, says="share its cable"),
)
