"""Programs for PP-5: schedules that don't fit or are slow, and right ones."""

from helpers.grade.task import Program


def greedy(
    order="IFW", room="f[s] - w[s] < room", ready="(list(done[k]) for k in 'FIW')", give="rows"
):
    """Second by second; `order`: what is preferred."""
    return f"""
        rows = [[] for _ in range(ranks)]
        done = {{k: [0] * ranks for k in "FIW"}}
        while min(done["W"]) < micro_batches:
            f, i, w = {ready}
            for s in range(ranks):
                can = {{
                    "F": f[s] < micro_batches and {room} and (s == 0 or f[s - 1] > f[s]),
                    "I": i[s] < f[s] and (s == ranks - 1 or i[s + 1] > i[s]),
                    "W": w[s] < i[s],
                }}
                for k in "{order}":
                    if can[k]:
                        rows[s].append(str(s) + k + str(done[k][s]))
                        done[k][s] += 1
                        break
        return {give}
        """


PROGRAMS = (
    Program(
        "room counted until I",
        greedy(room="f[s] - i[s] < room"),
        says="each stays until its W has ended",
    ),
    Program(
        "W before F",
        greedy(order="WIF"),
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
