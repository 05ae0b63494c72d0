"""LA-2: wrong work."""

from helpers.grade.task import Program

PROGRAMS = (
    Program("ranks side by side", {"len(before)": "rank % hosts.count(here)"}, says="like cards"),
)
