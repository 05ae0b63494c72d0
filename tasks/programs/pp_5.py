"""PP-5: schedules that don't fit or are slow, and a right one."""

from helpers.grade.task import Program

PROGRAMS = (
    Program(
        "room counted until I",
        {"f[s] - w[s] < room": "f[s] - i[s] < room"},
        says="each stays until its W has ended",
    ),
    Program(
        "W before F",
        {"if i[s] < f[s]": "if w[s] == i[s] < f[s]", "elif came": "elif w[s] == i[s] and came"},
        says="it runs and it fits, but it is slow: score",
    ),
)

RIGHT = {
    "the library's search": """
        from helpers.search import search
        from helpers.simulate import Costs
        found = search(ranks, micro_batches, Costs(activation_bytes=1, memory_limit=room), walks=80)
        return [[str(a) for a in row] for row in found.schedule.ranks]
        """,
}
