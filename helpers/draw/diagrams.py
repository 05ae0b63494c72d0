"""Drawings of what lies where: tables of colored cells, the ring, and who waits for whom."""

from collections.abc import Callable, Mapping, Sequence
from math import cos, isfinite, pi, sin
from types import MappingProxyType

from helpers.draw.picture import PT, Picture, arrow, box, boxes, canvas, styled, write
from helpers.draw.style import BAND, BLUE, CARD, GRID, INK, MUTED, PURPLE, SKY, VERMILLION
from helpers.draw.texts import PAD, WIDE, shortened, width_of
from helpers.waits import WaitGraph, find_deadlock, sentence
from helpers.words import names

Rows = Mapping[str, Sequence[object]]
Colors = Mapping[str, str] | Callable[[object], str]
GAP = 2  # pixels between two cells


def table(ax: Picture, x: float, y: float, rows, colors: Colors, wide, high) -> float:
    """Draw rows of cells from (x, y), in pixels, and return the x at which they end."""
    for r, row in enumerate(rows):
        for c, cell in enumerate(row):
            said = str(cell)
            color = colors(cell) if callable(colors) else colors.get(said, colors.get(said[:1]))
            place = x + c * wide, y + r * high, wide - GAP, high - GAP
            box(ax, *place, color or BAND, said, bold=bool(color))
    return x + wide * max(map(len, rows)) - GAP


@styled
def cells(
    rows: Rows | Mapping[str, Rows],
    title: str = "",
    *,
    columns: Sequence[object] = (),
    colors: Colors = MappingProxyType({}),
    wide: float = 64,
    high: float = 32,
) -> Picture:
    """Draw a table of colored cells: ``cells({"rank 0": ["F0", "B0"], "rank 1": ["F0", "B0"]})``.

    Args:
        rows: {name: row}; or {name: {name: row}}, tables side by side.
        columns: the words above the columns.
        colors: of a cell by its text, or else its first letter; or a function of the cell.
        wide, high: pixels of a cell.
    """
    tables = rows if isinstance(next(iter(rows.values()), ()), Mapping) else {"": rows}
    if not any(row for each in tables.values() for row in each.values()):
        raise ValueError("cells() needs at least one cell: cells({'rank 0': ['F0', 'B0']})")
    top = (26 if any(tables) else 0) + (22 if columns else 0)
    ax = canvas(top + high * max(map(len, tables.values())), title)
    x, said = 0.0, [f"{title}."] if title else []
    for name, each in tables.items():
        x += max((width_of(label) + 10 for label in each if label), default=0)
        write(ax, x, 8, name, 13, bold=True)
        for c, column in enumerate(columns):
            write(ax, x + (c + 0.5) * wide - 1, top - 12, str(column), 12, MUTED, "center")
        for r, label in enumerate(each):
            write(ax, x - 8, top + high * (r + 0.5) - 1, label, 12, MUTED, "right")
        right = table(ax, x, top, list(each.values()), colors, wide, high)
        x = max(right, x + width_of(name, 13, True)) + 30
        read = [f"{label}: {', '.join(map(str, row))}" for label, row in each.items()]
        said.append(f"{name}{': ' * bool(name)}{'; '.join(read)}.")
    ax.alt = " ".join(said)
    return ax


@styled
def grid(
    values: Sequence[Sequence[float]] | Mapping[str, Sequence[Sequence[float]]],
    title: str = "",
    *,
    rows: str = "row",
    columns: str = "column",
) -> Picture:
    """Draw a table of numbers, each cell the darker the larger its number; or {name: table}.

    rows, columns: the words before the number of each.
    """
    panels = values if isinstance(values, Mapping) else {"": values}
    numbers = [value for table in panels.values() for row in table for value in row]
    if not numbers:
        raise ValueError("grid() needs at least one number: grid([[1, 2], [3, 4]])")
    most = max((v for v in numbers if isfinite(v)), default=0) or 1
    across = max(len(row) for table in panels.values() for row in table)
    room = ((WIDE - 2 * PAD) / len(panels) - 110) / across
    wide = min(max(58.0, width_of(f"{columns} 0") + 14), room)
    tables = {
        name: {f"{rows} {r}": [f"{v:g}" for v in row] for r, row in enumerate(table)}
        for name, table in panels.items()
    }
    heads = [f"{columns} {c}" if wide > width_of(f"{columns} {c} ") else c for c in range(across)]
    shares = {f"{v:g}": max(v, 0) / most if isfinite(v) else 0 for v in numbers}
    colors = {said: f"{BLUE}{round(15 + 240 * share):02x}" for said, share in shares.items()}
    return cells(tables, title, columns=heads, colors=colors, wide=wide)


@styled
def ring(ranks: int = 4, step: int = 0) -> Picture:
    """Draw the ring all-reduce after a step (0: the start); an arrow is a message of that step."""
    if not 2 <= ranks <= 4:
        raise ValueError(f"a ring of {ranks} ranks can't be drawn: take 2, 3 or 4")
    if not 0 <= step <= 2 * (ranks - 1):
        raise ValueError(f"there is no step {step}: choose from 0 to {2 * (ranks - 1)}")
    # Rank r begins with the number 10 ** r in each part, so a sum tells which ranks are in it.
    held, name, sent = [[10**rank] * ranks for rank in range(ranks)], "start", []
    for gathers, turn in (divmod(number, ranks - 1) for number in range(step)):
        name = f"{'all-gather' if gathers else 'reduce-scatter'}, step {turn}"
        sent = [(rank + gathers - turn) % ranks for rank in range(ranks)]
        moving = [held[rank][part] for rank, part in enumerate(sent)]
        for rank, part in enumerate(sent):
            here = held[(rank + 1) % ranks]
            here[part] = moving[rank] + (0 if gathers else here[part])
    ax, whole = canvas(290, name), sum(10**rank for rank in range(ranks))
    wide, middle = 20 + 8 * ranks, ((WIDE - 2 * PAD) / 2, 150)
    half = ranks * wide / 2 + 10

    def place(share: float) -> tuple[float, float]:
        turn = 2 * pi * share
        return middle[0] + 290 * sin(turn), middle[1] - 100 * cos(turn)

    def shade(value: int) -> str:
        """A part with one rank in it is gray, and full when it's done."""
        count = str(value).count("1")
        return PURPLE if value == whole else "" if count == 1 else f"{SKY}{90 + 25 * count:02x}"

    for rank, row in enumerate(held):
        x, y = place(rank / ranks)
        write(ax, x, y - 24, f"rank {rank}", 12, MUTED, "center")
        table(ax, x - half + 10, y - 12, [row], shade, wide, 26)
        if sent:
            left, frame = x - half + 9 + sent[rank - 1] * wide, {"edgecolor": INK, "lw": 2.4 * PT}
            boxes(ax, [(left, wide)], [(y - 13, 26)], "none", zorder=3, **frame)
    for rank in range(ranks):  # as far along as both rows of boxes leave room
        ends = place(rank / ranks), place((rank + 1) / ranks)
        way = [place((rank + n / 60) / ranks) for n in range(61)]
        free = [p for p in way if all(abs(p[0] - a) > half or abs(p[1] - b) > 38 for a, b in ends)]
        if len(free) > 3:
            color = INK if sent else GRID
            ax.plot(*zip(*free[:-2], strict=True), color=color, lw=1.4)
            arrow(ax, free[-4], free[-1], color, 2)
            if sent:
                at = free[len(free) // 2]
                write(ax, *at, f"part {sent[rank]}", 12, INK, "center", behind=CARD)
    done = f"rank 0 holds {held[0].count(whole)} of {ranks} finished parts"
    write(ax, WIDE - 2 * PAD, -16, done, 12, MUTED, "right")
    rows = "; ".join(f"rank {r} holds {' '.join(map(str, row))}" for r, row in enumerate(held))
    ax.alt = f"A ring of {ranks} ranks: {name}; {rows}."
    return ax


@styled
def who_waits(found: WaitGraph) -> Picture:
    """Draw who waits for whom: a row for each rank, an arrow to each rank that it waits for. The
    waits of the deadlock stand out. ValueError if no rank waits."""
    if not found.waits:
        raise ValueError("no rank waits for another, so there is nothing to draw")
    deadlock = find_deadlock(found.waits, found.ended)
    said = {who: "goes on" for wait in found.waits for who in wait.needs}
    said |= {who: "has ended" for who in found.ended} | found.others
    lines = {wait.who: wait.line.strip() for wait in found.waits}
    said |= {w.who: f"{w.doing}, {w.where}" if w.where else w.doing for w in found.waits}
    order, core = sorted(said), {wait.who for wait in deadlock.core} if deadlock else set()
    blame = core | set(deadlock.ended) if deadlock else set()
    arrows = [
        (order.index(wait.who), order.index(other), wait.who in core and other in blame)
        for wait in found.waits
        for other in wait.needs
    ]
    arrows.sort(key=lambda each: (abs(each[0] - each[1]), each[0]))
    ways = _ways([each[:2] for each in arrows])
    left = 16 * (max(ways, default=0) + 1) + 18
    wide = max(width_of(f"rank {who}", 13, bold=True) for who in order) + 20
    ax = canvas(52 * len(order), found.title or ("A deadlock" if deadlock else "No deadlock"))
    for row, who in enumerate(order):
        y, waits = 8 + 52 * row, who in lines
        ink, x = INK if waits else MUTED, left + wide + 14
        room = WIDE - 2 * PAD - x
        boxes(ax, [(left, wide)], [(y, 26)], GRID if waits else BAND)
        write(ax, left + wide / 2, y + 13, f"rank {who}", 13, ink, "center", bold=waits)
        write(ax, x, y + (8 if lines.get(who) else 13), shortened(said[who], 13, room), 13, ink)
        write(ax, x, y + 27, shortened(lines.get(who, ""), 12, room), 12, MUTED)
    for (source, target, strong), way in zip(arrows, ways, strict=True):
        color, thick = (VERMILLION, 2.4) if strong else (MUTED, 1.2)
        x, start, end = left - 14 - 16 * (way + 0.5), 8 + 52 * source + 19, 8 + 52 * target + 7
        look = {"color": color, "lw": thick * PT, "ls": "-" if strong else "--"}
        ax.plot([left, x, x, left - 7], [start, start, end, end], **look, zorder=2 + strong)
        arrow(ax, (left - 9, end), (left - 1, end), color, thick)
    spoken = sentence(deadlock) if deadlock else "every wait can still end"
    ax.alt = f"Who waits for whom. {spoken}."
    for wait in found.waits:
        doing = f"{wait.doing} {wait.where}".strip()
        ax.alt += f" rank {wait.who} {doing}, and waits for {names(wait.needs)}."
    return ax


def _ways(arrows: Sequence[tuple[int, int]]) -> list[int]:
    """Return a way for each arrow, so that no two that pass the same row share one."""
    placed: list[tuple[int, int, int]] = []  # way, first row, last row
    for low, high in map(sorted, arrows):
        taken = {way for way, first, last in placed if first <= high and low <= last}
        placed.append((min({*range(len(placed) + 1)} - taken), low, high))
    return [way for way, _, _ in placed]
