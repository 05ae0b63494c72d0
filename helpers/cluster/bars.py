"""Stacked bars: what a device's memory is for, what a step's time is for."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from helpers.draw.picture import PAD, Canvas, Picture
from helpers.draw.style import (
    BLUE,
    GREEN,
    GREY,
    LIGHT_GREY,
    ORANGE,
    PURPLE,
    SKY,
    VERMILLION,
    YELLOW,
    ink_on,
)
from helpers.draw.text import width_of
from helpers.words import bytes_text, listed, percent, time_text

COLOURS = (BLUE, ORANGE, GREEN, SKY, VERMILLION, PURPLE, YELLOW, LIGHT_GREY, GREY)
BAR, GAP = 26, 12


@dataclass(frozen=True)
class Group:
    """Bars on one scale. rows: {name: {part: size}}. text: a size in words.

    limit: where a line is drawn, and what it is called; what lies beyond it does not fit.
    """

    rows: Mapping[str, Mapping[str, float]]
    text: Callable[[float], str] = bytes_text
    limit: float | None = None
    limit_name: str = "limit"

    @property
    def parts(self) -> list[str]:
        """The parts that have a size in some row."""
        names = dict.fromkeys(part for row in self.rows.values() for part in row)
        return [name for name in names if any(row.get(name, 0) for row in self.rows.values())]

    @property
    def longest(self) -> float:
        return max([*(sum(row.values()) for row in self.rows.values()), self.limit or 0.0])


def bars(groups: Sequence[Group], title: str, theme: str = "light") -> Picture:
    """A picture of one group or several, each with its own scale and legend.

    title: what was found. theme: "light" or "dark". Raises ValueError without a row.
    """
    if not any(group.rows for group in groups):
        raise ValueError("bars() needs at least one row: Group({'name': {'part': size}})")
    canvas = Canvas(theme=theme)
    y = canvas.heading(title)
    said = []
    for group in groups:
        y = _bars(canvas, group, y + 10)
        numbered = enumerate(zip(group.parts, COLOURS, strict=False), 1)
        key = [(str(number), colour, part) for number, (part, colour) in numbered]
        y = canvas.legend(key, PAD, y) + 8
        said += [_in_words(name, row, group) for name, row in group.rows.items()]
    canvas.height = y + 4
    return Picture(canvas, title, f"Bars. {title}. {' '.join(said)}")


def memory_group(estimates: Mapping[str, object]) -> Group:
    """The memory of each estimate; the line is what the first one's device has."""
    rows = {name: e.memory.named() for name, e in estimates.items()}
    machine = next(iter(estimates.values())).machine
    return Group(rows, bytes_text, machine.memory, f"{machine.name}:")


def time_group(estimates: Mapping[str, object]) -> Group:
    """What the time of each estimate's step is for; what is below 1 % in every row joins "rest"."""
    rows = {name: dict(e.causes) for name, e in estimates.items()}
    for cause in next(iter(rows.values())).copy():
        if cause != "rest" and all(r.get(cause, 0) < 0.01 * sum(r.values()) for r in rows.values()):
            for row in rows.values():
                row["rest"] = row.get("rest", 0.0) + row.pop(cause, 0.0)
    return Group(rows, time_text)


def _bars(canvas: Canvas, group: Group, y: float) -> float:
    names = max(width_of(name, 12) for name in group.rows)
    left = PAD + (names + 10 if names else 0)
    ends = max(width_of(group.text(sum(row.values())), 12, True) for row in group.rows.values())
    scale = (canvas.width - left - ends - PAD - 8) / (group.longest or 1.0)
    top, edge = y, -1.0 if group.limit is None else left + group.limit * scale
    for name, row in group.rows.items():
        canvas.text(PAD, y + BAR / 2, name, 12)
        x, last = left, (0.0, "")
        for part, colour in zip(group.parts, COLOURS, strict=False):
            size = row.get(part, 0.0) * scale
            number = str(group.parts.index(part) + 1)
            shown = number if size > width_of(number, 11) + 4 else ""
            tip = f"{part}: {group.text(row.get(part, 0.0))}"
            canvas.box(x, y, size, BAR, colour, shown, 11, bold=True, tip=tip)
            x += size
            last = (size, colour) if size else last
        over = _over(sum(row.values()), group)
        if over:  # what lies beyond the limit is framed in red
            corners = [(edge, y - 2), (x, y - 2), (x, y + BAR + 2), (edge, y + BAR + 2)]
            canvas.line(corners, VERMILLION, 3)
        total = group.text(sum(row.values()))
        room = width_of(total, 12, bold=True) + 12
        if not x - 4 < edge < x + room:
            canvas.text(x + 6, y + BAR / 2, total, 12, VERMILLION if over else None, bold=True)
        elif last[0] > 2 * room:  # inside, or the line would go through the number
            canvas.text(x - 6, y + BAR / 2, total, 12, ink_on(last[1]), "end", True)
        else:
            canvas.text(edge + 6, y + BAR / 2, total, 12, VERMILLION if over else None, bold=True)
        y += BAR + GAP
    if group.limit is not None:
        canvas.line([(edge, top - 6), (edge, y - GAP + 4)], canvas.theme.text, 2, (5, 3))
        words = f"{group.limit_name} {group.text(group.limit)}"
        near_edge = edge + width_of(words, 11) / 2 > canvas.width - PAD
        anchor, at = ("end", canvas.width - PAD) if near_edge else ("middle", edge)
        canvas.text(at, y - GAP + 13, words, 11, canvas.theme.muted, anchor)
        y += 14
    return y


def _in_words(name: str, row: Mapping[str, float], group: Group) -> str:
    total = sum(row.values())
    large = [f"{part} {percent(size / total)}" for part, size in row.items() if size > total / 50]
    over = f", more than the {group.text(group.limit)} there are" if _over(total, group) else ""
    return f"{name or 'In all'}: {group.text(total)}{over}; {listed(large)}."


def _over(total: float, group: Group) -> bool:
    return group.limit is not None and total > group.limit
