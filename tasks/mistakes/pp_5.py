"""Wrong ways to do PP-5, each to be caught with words of its own; and right ways, to be passed."""

from helpers.grade import PlantedMistake


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


MISTAKES = (
    PlantedMistake(
        "W before F",
        greedy(order="WIF"),
        says="it runs and it fits, but it is slow: score",
    ),
    PlantedMistake(
        "F before I",
        greedy(order="FIW"),
        says="it runs and it fits, but it is slow: score",
    ),
    PlantedMistake(
        "room counted until I",
        greedy(room="f[s] - i[s] < room"),
        says="each stays until its W has ended",
    ),
    PlantedMistake(
        "no limit",
        greedy(room="True"),
        says="micro-batches with 0F",
    ),
    PlantedMistake(
        "one micro-batch at a time",
        'return [[f"{s}{k}{i}" for i in range(micro_batches) for k in "FB"] for s in range(ranks)]',
        says="it runs and it fits, but it is slow: score",
    ),
    PlantedMistake(
        "1F1B whatever the room",
        """
        rows = []
        for s in range(ranks):
            ahead = min(ranks - 1 - s, micro_batches)
            row = [f"{s}F{i}" for i in range(ahead)]
            for i in range(micro_batches):
                row += [f"{s}F{i + ahead}"] * (i + ahead < micro_batches) + [f"{s}B{i}"]
            rows.append(row)
        return rows
        """,
        says="and there is room for 2",
    ),
    PlantedMistake(
        "W forgotten",
        greedy(give="[[cell for cell in row if 'W' not in cell] for row in rows]"),
        says="cannot run",
    ),
    PlantedMistake(
        "a rank too few",
        greedy(give="rows[:-1]"),
        says="orders, and there are",
    ),
    PlantedMistake(
        "no actions",
        greedy(give="[[cell.lower() for cell in row] for row in rows]"),
        says="is no schedule",
    ),
)

ALSO_RIGHT = {
    "greedy": greedy(),
    "the library's search": """
        from helpers.search import search
        from helpers.simulate import Costs
        found = search(ranks, micro_batches, Costs(activation_bytes=1, memory_limit=room), walks=80)
        return [[str(a) for a in row] for row in found.schedule.ranks]
        """,
}
