"""The static picture of a trace: a row for each rank, time from left to right.

The same length is the same time in every row, and in every trace of a picture. Computing is above,
communication below it; waiting is hatched; idle time is what stays empty.
"""

from helpers.draw.canvas import Canvas
from helpers.draw.lanes import TIPS, Frame, Lane, draw_lane, draw_memory
from helpers.draw.legend import draw_legend
from helpers.draw.picture import Picture
from helpers.draw.style import theme as theme_called
from helpers.draw.text import percent, shortened, time_text, time_unit, width_of, wrapped
from helpers.draw.ticks import labels, ticks
from helpers.draw.words import Part, comparable, compared, found_in, in_words
from helpers.trace import LANES, Event, Trace, messages, peak

PAD, MAX_LANES, ARROWS = 14, 4, 80


def timeline(
    trace: Trace,
    title: str | None = None,
    *,
    width: int = 900,
    duration: float | None = None,
    arrows: bool | None = None,
    theme: str = "light",
) -> Picture:
    """A picture of one trace.

    title: what was found; left out, it is computed ("3 ranks, 120 ms: 34 % of the time waiting").
    width: pixels. duration: seconds that the axis covers at least; give two pictures the same, to
    compare them. arrows: draw messages as arrows; left out, where there are few of them.
    theme: "light" or "dark".

    Waits are worked out from the events of all ranks (`with_waits`).
    """
    return compare({"": trace}, title, width=width, duration=duration, arrows=arrows, theme=theme)


def compare(
    traces: dict[str, Trace],
    title: str | None = None,
    *,
    width: int = 900,
    duration: float | None = None,
    arrows: bool | None = None,
    theme: str = "light",
) -> Picture:
    """Several traces under each other, on one scale: ``compare({"predicted": a, "measured": b})``.

    Each starts at its own first event. Memory is drawn where every trace counts it.
    """
    parts = comparable([Part(name, trace) for name, trace in traces.items()])
    if not parts:
        raise ValueError("compare() needs at least one trace")
    if title is None:
        title = found_in(parts[0]) if len(parts) == 1 else compared(parts)
    longest = max(duration or 0.0, *(p.duration for p in parts))
    canvas = Canvas(width, 0, theme_called(theme))
    y = PAD
    for line in wrapped(title, 15, width - 2 * PAD, bold=True):
        canvas.text(PAD, y + 8, line, 15, bold=True)
        y += 20
    y = draw_legend(canvas, [p.trace for p in parts], y + 6, PAD) + 8
    frame = _frame(width, parts, longest)
    for part in parts:
        y = _draw_part(canvas, part, y, frame, arrows)
    canvas.height = _draw_axis(canvas, y, frame) if longest else y
    return Picture(canvas, title, in_words(title, parts))


def _frame(width: float, parts: list[Part], longest: float) -> Frame:
    names = [width_of(f"rank {rank}", 12) for p in parts for rank in p.trace.ranks]
    lanes = {e.lane for p in parts for e in p.trace.events} - set(LANES)
    names += [min(width_of(lane, 10), 110) for lane in lanes]
    names += [width_of("memory", 10) for p in parts if p.trace.counters]
    return Frame(PAD + max(names, default=40) + 10, width - PAD - 76, longest or 1e-6)


def _draw_part(canvas: Canvas, part: Part, y: float, frame: Frame, arrows: bool | None) -> float:
    """Draw one trace; give the y below it."""
    trace, theme = part.trace, canvas.theme
    if part.name:
        canvas.text(PAD, y + 10, f"{part.name}: {found_in(part)}", 12, bold=True)
        y += 24
    if not trace.events and not trace.counters:
        canvas.rect(frame.left, y, frame.right - frame.left, 26, theme.band)
        middle = (frame.left + frame.right) / 2
        canvas.text(middle, y + 13, "nothing was recorded", 12, theme.muted, "middle")
        return y + 40
    rows, lanes = _rows(trace)
    heights = _heights(len(rows), lanes)
    highest = max(peak(trace).values(), default=0) if len(rows) <= 24 else 0
    tops: dict[int, float] = {}
    tip = _tip if len(trace.events) <= TIPS else lambda _: ""
    every = max(1, round(14 / (sum(heights.values()) + _gap(len(rows)))))
    top, behind = y, len(canvas.shapes)
    for number, (rank, by_lane) in enumerate(rows.items()):
        tops[rank] = y
        middle = y + heights["compute"] / 2
        if number % every == 0:
            canvas.text(frame.left - 10, middle, f"rank {rank}", 12, anchor="end")
            share = f"busy {percent(part.busy(rank))}"
            canvas.text(frame.right + 10, middle, share, 11, theme.muted)
        for lane, height in heights.items():
            canvas.rect(frame.left, y, frame.right - frame.left, height, theme.band)
            letters = 12 if height >= 18 else 10 if height >= 13 else 0
            if lane not in LANES and letters:
                _name_lane(canvas, lane, y + height / 2, frame)
            draw_lane(canvas, Lane(y, height, frame.x_of, letters), by_lane.get(lane, []), tip)
            y += height + (2 if height > 6 else 0)
        if highest > 0:
            counts = [c for c in trace.counters if c.rank == rank and c.name == "memory"]
            y = draw_memory(canvas, counts, highest, part.duration, y, frame)
        y += _gap(len(rows))
    pairs = messages(trace)
    if arrows if arrows is not None else 0 < len(pairs) <= ARROWS:
        _draw_arrows(canvas, pairs, tops, heights, frame)
    if part.duration:
        _draw_grid(canvas, top - 4, y, frame, behind)
    return y + 4


def _name_lane(canvas: Canvas, name: str, y: float, frame: Frame) -> None:
    name = shortened(name, 10, frame.left - PAD - 10)
    canvas.text(frame.left - 10, y, name, 10, canvas.theme.muted, "end")


def _rows(trace: Trace) -> tuple[dict[int, dict[str, list[Event]]], list[str]]:
    """The events of each rank and lane, in order, and the lanes to draw.

    Input that never goes on while a rank computes is drawn in the compute lane: no lane is needed
    to show that they take turns.
    """
    rows: dict[int, dict[str, list[Event]]] = {}
    for rank, events in trace.by_rank().items():
        rows[rank] = {}
        for event in events:
            rows[rank].setdefault(event.lane, []).append(event)
    if not any(_overlap(row.get("input", []), row.get("compute", [])) for row in rows.values()):
        for row in rows.values():
            joined = [*row.pop("input", []), *row.get("compute", [])]
            row["compute"] = sorted(joined, key=lambda e: e.start)
    others = sorted({lane for row in rows.values() for lane in row} - set(LANES))
    used = [lane for lane in LANES[1:] if any(row.get(lane) for row in rows.values())]
    return rows, ["compute", *used, *others][:MAX_LANES]


def _overlap(some: list[Event], others: list[Event]) -> bool:
    """Whether one of the first goes on while one of the second does; a ns does not count."""
    edges = sorted([*((e, 0) for e in some), *((e, 1) for e in others)], key=lambda x: x[0].start)
    ends = [float("-inf"), float("-inf")]
    for event, which in edges:
        if event.start < ends[1 - which] - 1e-9:
            return True
        ends[which] = max(ends[which], event.end)
    return False


def _heights(ranks: int, lanes: list[str]) -> dict[str, float]:
    """Pixels of each lane: the more ranks, the flatter."""
    compute, other = (26, 15) if ranks <= 12 else (18, 13) if ranks <= 24 else (8, 4)
    if ranks > 100:
        compute, other = 3, 1.5
    return {lane: compute if lane == "compute" else other for lane in lanes}


def _gap(ranks: int) -> float:
    return 10 if ranks <= 12 else 7 if ranks <= 24 else 2 if ranks <= 100 else 0.5


def _tip(e: Event) -> str:
    """All facts of an event in a line, for the pointer."""
    words = [f"{e.kind} {e.name}".strip(), f"rank {e.rank}", time_text(e.duration)]
    words.append(f"from {time_text(e.start)} to {time_text(e.end)}")
    facts = e.info if e.info.get("bytes") else {k: v for k, v in e.info.items() if k != "bytes"}
    if "for" in facts:
        facts = facts | {"for": str(facts["for"]).lstrip("0123456789")}
    words += [f"{key.replace('_', ' ')} {value}" for key, value in facts.items()]
    return ", ".join(words)


def _draw_arrows(canvas, pairs, tops, heights, frame: Frame) -> None:
    """From where a send leaves its rank's lanes to where the receive enters its."""
    below = 0.0
    for lane, height in heights.items():
        below += height + 2
        if lane == "communication":
            break
    for send, receive in pairs:
        down = tops[receive.rank] > tops[send.rank]
        y0 = tops[send.rank] + (below - 2 if down else 0)
        y1 = tops[receive.rank] + (0 if down else below - 2)
        start, end = (frame.x_of(send.start), y0), (frame.x_of(receive.end), y1)
        canvas.arrow(start, end, canvas.theme.muted, 1.0, 6)


def _ticks(frame: Frame) -> list[tuple[float, str]]:
    """(x, label) of each tick."""
    size, _ = time_unit(frame.duration)
    values = ticks(0, frame.duration / size, at_most=10)
    return [(frame.x_of(v * size), t) for v, t in zip(values, labels(values), strict=True)]


def _draw_grid(canvas: Canvas, top: float, y: float, frame: Frame, behind: int) -> None:
    """Lines at the ticks, behind everything that was drawn since `behind`."""
    grid = Canvas(canvas.width, 0, canvas.theme)
    for x, _ in _ticks(frame):
        grid.line([(x, top), (x, y)], canvas.theme.grid)
    canvas.shapes[behind:behind] = grid.shapes


def _draw_axis(canvas: Canvas, y: float, frame: Frame) -> float:
    """The ticks' labels and the unit; give the y below."""
    for x, label in _ticks(frame):
        canvas.text(x, y + 6, label, 11, canvas.theme.muted, "middle")
    middle = (frame.left + frame.right) / 2
    unit = f"time ({time_unit(frame.duration)[1]})"
    canvas.text(middle, y + 24, unit, 11, canvas.theme.muted, "middle")
    return y + 36
