"""The grid as text: one line per replica, stages from left to right."""

from helpers.grid.grid import Grid


def to_text(grid: Grid) -> str:
    """Return one line per replica; ranks in the same cell share a stage's layers (TP, CP).

                 stage 0    stage 1
    replica 0    0   1      2   3
    replica 1    4   5      6   7
    """
    width = len(str(grid.size - 1))
    rows = [["", *(f"stage {s}" for s in range(grid.pp))]]
    for d in range(grid.dp):
        cells = [
            " ".join(
                f"{grid.rank(d, s, t, c):>{width}}" for c in range(grid.cp) for t in range(grid.tp)
            )
            for s in range(grid.pp)
        ]
        rows.append([f"replica {d}", *cells])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["   ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)) for row in rows]
    return "\n".join(line.rstrip() for line in lines)
