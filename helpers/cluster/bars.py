"""Stacked bars: what a device's memory is for, what a step's time is for.

Each part has the color of its cause in `helpers.draw.style`, and its value stands in the bar, or
above it where the part is too narrow.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from helpers.draw.picture import PAD, Canvas, Picture
from helpers.draw.plot import spread
from helpers.draw.style import CAUSES, UNKNOWN, WAITING, ink_on
from helpers.draw.text import first_that_fits, width_of
from helpers.words import bytes_text, listed, percent, time_text

BAR, GAP, ABOVE = 26, 12, 15  # of a bar, between two, for the values above one
SHOWN = 0.004  # of the longest bar: what is less has no value of its own


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


def bars(groups: Sequence[Group], title: str = "", note: str = "", theme: str = "light") -> Picture:
    """A picture of one group or several, each with its own scale and legend.

    title: what was found. note: facts below it. theme: "light" or "dark".
    Raises ValueError without a row.
    """
    if not any(group.rows for group in groups):
        raise ValueError("bars() needs at least one row: Group({'name': {'part': size}})")
    canvas = Canvas(theme=theme)
    y = canvas.note(note, canvas.heading(title))
    said = []
    for group in groups:
        y = _bars(canvas, group, y + 10)
        key = [(str(n), color_of(part), part) for n, part in enumerate(group.parts, 1)]
        y = canvas.legend(key, PAD, y) + 8
        said += [_in_words(name, row, group) for name, row in group.rows.items()]
    canvas.height = y + 4
    words = ". ".join(each for each in ("Bars", title, note) if each)
    return Picture(canvas, title or note, f"{words}. {' '.join(said)}")


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


def color_of(part: str) -> str:
    """Return the color of a part: that of its cause, or of what the table doesn't know."""
    return CAUSES.get(part, UNKNOWN)


def _bars(canvas: Canvas, group: Group, y: float) -> float:
    names = max(width_of(name, 12) for name in group.rows)
    left = PAD + (names + 10 if names else 0)
    ends = max(width_of(group.text(sum(row.values())), 12, True) for row in group.rows.values())
    scale = (canvas.width - left - ends - PAD - 14) / (group.longest or 1.0)
    edge = -1.0 if group.limit is None else left + group.limit * scale
    top = y
    for name, row in group.rows.items():
        outside = _values_above(canvas, group, row, (left, y, scale))
        y += ABOVE * outside
        canvas.text(PAD, y + BAR / 2, name, 12)
        x = left
        for number, part in enumerate(group.parts, 1):
            x += _draw_part(canvas, group, part, number, row.get(part, 0.0), (x, y, scale))
        over = _over(sum(row.values()), group)
        if over:  # what lies beyond the limit is framed
            corners = [(edge, y - 2), (x, y - 2), (x, y + BAR + 2), (edge, y + BAR + 2)]
            canvas.line(corners, CAUSES["fault"], 3)
        total = group.text(sum(row.values()))
        crossed = x - 4 < edge < x + width_of(total, 12, bold=True) + 12
        ink = CAUSES["fault"] if over else None
        canvas.text((edge if crossed else x) + 6, y + BAR / 2, total, 12, ink, bold=True)
        y += BAR + GAP
    if group.limit is not None:
        canvas.line([(edge, top - 6), (edge, y - GAP + 4)], canvas.theme.text, 2, (5, 3))
        words = f"{group.limit_name} {group.text(group.limit)}"
        near_edge = edge + width_of(words, 11) / 2 > canvas.width - PAD
        anchor, at = ("end", canvas.width - PAD) if near_edge else ("middle", edge)
        canvas.text(at, y - GAP + 13, words, 11, canvas.theme.muted, anchor)
        y += 14
    return y


def _draw_part(canvas: Canvas, group: Group, part: str, number: int, size: float, place) -> float:
    """Draw a part of a bar with its value, if it fits, and return its width."""
    (x, y, scale), fill = place, color_of(part)
    wide, tip = size * scale, f"{part}: {group.text(size)}"
    if not wide:
        return 0.0
    hatch = canvas.theme.wait if fill == WAITING else ""
    canvas.rect(x, y, wide, BAR, fill or canvas.theme.band, tip, hatch)
    text = first_that_fits(_labels(group, part, number, size), 11, wide - 8)
    if text and hatch:  # letters on hatching are hard to read
        room = width_of(text, 11) + 6
        canvas.rect(x + (wide - room) / 2, y + 5, room, BAR - 10, canvas.theme.band)
    if text:
        ink = canvas.theme.text if hatch else ink_on(fill)
        canvas.text(x + wide / 2, y + BAR / 2, text, 11, ink, "middle")
    return wide


def _labels(group: Group, part: str, number: int, size: float) -> list[str]:
    value = group.text(size)
    return [f"{part} {value}", f"{number}: {value}", str(number)]


def _values_above(canvas: Canvas, group: Group, row: Mapping[str, float], place) -> bool:
    """Write the values that find no room in their parts above them; return whether there are any.

    place: the left end of the bar, the y where there would be no values, pixels of a unit.
    """
    x, y, scale = place
    wanted, words = [], []
    for number, part in enumerate(group.parts, 1):
        size = row.get(part, 0.0)
        valued = first_that_fits(_labels(group, part, number, size)[:2], 11, size * scale - 8)
        if not valued and size > SHOWN * group.longest:
            wanted.append(x + size * scale / 2)
            words.append(f"{number}: {group.text(size)}")
        x += size * scale
    if not words:
        return False
    apart = max(width_of(each, 10) for each in words) + 8
    middles = spread(wanted, apart, place[0] + apart / 2, canvas.width - PAD - apart / 2)
    for at, text in zip(middles, words, strict=True):
        canvas.text(at, y + 6, text, 10, canvas.theme.muted, "middle")
    return True


def _in_words(name: str, row: Mapping[str, float], group: Group) -> str:
    total = sum(row.values())
    large = [f"{part} {percent(size / total)}" for part, size in row.items() if size > total / 50]
    over = f", more than the {group.text(group.limit)} there are" if _over(total, group) else ""
    return f"{name or 'In all'}: {group.text(total)}{over}; {listed(large)}."


def _over(total: float, group: Group) -> bool:
    return group.limit is not None and total > group.limit
