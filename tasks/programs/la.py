"""Work in place of the solutions of LA: what the check must name, and what it must pass."""

from helpers.grade.task import Program

PROGRAMS = (
    Program(
        "LA-1",
        "local rank 0 for all",
        {"get(local_name, rank)": "get(local_name, 0)"},
        says="no local rank",
    ),
    Program(
        "LA-1",
        "RANK is believed whatever the others say",
        {"says != [rank, world_size]": "False"},
        says="four ranks train alone",
    ),
    Program(
        "LA-2", "ranks side by side", {"len(before)": "rank % hosts.count(here)"}, says="like cards"
    ),
    Program(
        "LA-3", "a cable for each message", {" * leaving.count(host)": ""}, says="share its cable"
    ),
)
