"""The static picture of a trace: a row for each rank, time from left to right.

Equal lengths are equal times, in every row and in every trace of a picture. Computing is above,
communication below it; waiting is hatched, and idle time stays empty.
"""

from functools import partial

from helpers.draw.findings import (
    TraceSummary,
    comparable,
    compared,
    found_in,
    in_words,
    memory_name,
)
from helpers.draw.lanes import TIPS, Lane, TimeAxis, draw_lane, draw_legend, draw_memory
from helpers.draw.picture import PAD, WIDE, Canvas, Picture
from helpers.draw.text import shortened, tick_labels, ticks, width_of
from helpers.trace import LANES, Event, Trace, matched_messages, peak
from helpers.words import percent, time_unit

MAX_LANES, ARROWS = 4, 80


def timeline(trace: Trace, title: str | None = None, theme: str = "light") -> Picture:
    """Draw one trace; waits are computed from the events of all ranks (`with_waits`).

    Args:
        trace: the events of all ranks.
        title: what was found, in a sentence; without one, the numbers of the trace stand above it.
        theme: "light" or "dark".
    """
    return compare({"": trace}, title, theme)


def compare(traces: dict[str, Trace], title: str | None = None, theme: str = "light") -> Picture:
    """Draw several traces on one scale: ``compare({"predicted": a, "measured": b})``.

    Each starts at its own first event. Memory is drawn if every trace counts it. The other
    arguments are those of `timeline`.

    Raises:
        ValueError: if there are no traces.
    """
    parts = comparable([TraceSummary(name, trace) for name, trace in traces.items()])
    if not parts:
        raise ValueError("compare() needs at least one trace")
    numbers = found_in(parts[0]) if len(parts) == 1 else compared(parts)
    longest = max(p.duration for p in parts)
    canvas = Canvas(theme=theme)
    y = canvas.heading(title or "")
    if len(parts) == 1:
        y = canvas.note(numbers, y)
    title = title or numbers
    y = draw_legend(canvas, [p.trace for p in parts], y + 6, PAD) + 8
    axis = _time_axis(parts, longest)
    for part in parts:
        y = _draw_part(canvas, part, y, axis)
    canvas.height = _draw_axis(canvas, y, axis) if longest else y
    return Picture(canvas, title, in_words(title, parts))


def _time_axis(parts: list[TraceSummary], longest: float) -> TimeAxis:
    names = [width_of(f"rank {rank}", 12) for p in parts for rank in p.trace.ranks]
    lanes = {e.lane for p in parts for e in p.trace.events} - set(LANES)
    names += [min(width_of(lane, 10), 110) for lane in lanes]
    names += [width_of("memory", 10) for p in parts if p.trace.counters]
    unit = parts[0].trace.meta.get("unit", "s")
    return TimeAxis(PAD + max(names, default=40) + 10, WIDE - PAD - 76, longest or 1e-6, unit)


def _draw_part(canvas: Canvas, part: TraceSummary, y: float, axis: TimeAxis) -> float:
    """Draw one trace, and return the y below it."""
    trace, theme = part.trace, canvas.theme
    if part.name:
        canvas.text(PAD, y + 10, f"{part.name}: {found_in(part)}", 12, bold=True)
        y += 24
    if not trace.events and not trace.counters:
        canvas.rect(axis.left, y, axis.right - axis.left, 26, theme.band)
        middle = (axis.left + axis.right) / 2
        canvas.text(middle, y + 13, "nothing was recorded", 12, theme.muted, "middle")
        return y + 40
    lanes, joined = lanes_to_draw(trace, MAX_LANES)
    rows = _rows(trace, joined)
    heights = _heights(len(rows), lanes)
    memory = memory_name(trace)
    highest = max(peak(trace, memory).values(), default=0) if len(rows) <= 24 else 0
    tops: dict[int, float] = {}
    tip = partial(_tip, part) if len(trace.events) <= TIPS else lambda _: ""
    every = max(1, round(14 / (sum(heights.values()) + _gap(len(rows)))))
    top, behind = y, len(canvas.shapes)
    for number, (rank, by_lane) in enumerate(rows.items()):
        tops[rank] = y
        middle = y + heights["compute"] / 2
        if number % every == 0:
            canvas.text(axis.left - 10, middle, f"rank {rank}", 12, anchor="end")
            busy = f"busy {percent(part.busy(rank))}"
            canvas.text(axis.right + 10, middle, busy, 11, theme.muted)
        for lane, height in heights.items():
            canvas.rect(axis.left, y, axis.right - axis.left, height, theme.band)
            letters = 12 if height >= 18 else 10 if height >= 13 else 0
            if lane not in LANES and letters:
                _name_lane(canvas, lane, y + height / 2, axis)
            draw_lane(canvas, Lane(y, height, axis.x_of, letters), by_lane.get(lane, []), tip)
            y += height + (2 if height > 6 else 0)
        if highest > 0:
            counts = [c for c in trace.counters if c.rank == rank and c.name == memory]
            y = draw_memory(canvas, counts, highest, part.duration, y, axis)
        y += _gap(len(rows))
    pairs = matched_messages(trace)
    if len(pairs) <= ARROWS:
        _draw_arrows(canvas, pairs, tops, heights, axis)
    if part.duration:
        _draw_grid(canvas, top - 4, y, axis, behind)
    return y + 4


def _name_lane(canvas: Canvas, name: str, y: float, axis: TimeAxis) -> None:
    name = shortened(name, 10, axis.left - PAD - 10)
    canvas.text(axis.left - 10, y, name, 10, canvas.theme.muted, "end")


def lanes_to_draw(trace: Trace, most: int) -> tuple[list[str], dict[str, str]]:
    """Return the lanes of every rank, at most so many, and {lane: the one it is drawn in instead}.

    If a rank never reads input while it computes, input is drawn in the compute lane: it takes no
    lane of its own to show that they take turns.
    """
    taking_turns = not any(
        _overlap([e for e in row if e.lane == "input"], [e for e in row if e.lane == "compute"])
        for row in trace.by_rank().values()
    )
    joined = {"input": "compute"} if taking_turns else {}
    used = {joined.get(lane, lane) for lane in {e.lane for e in trace.events}}
    others = sorted(used - set(LANES))
    return ["compute", *(lane for lane in LANES[1:] if lane in used), *others][:most], joined


def _rows(trace: Trace, joined: dict[str, str]) -> dict[int, dict[str, list[Event]]]:
    """Return the events of each rank and lane, in order."""
    rows: dict[int, dict[str, list[Event]]] = {}
    for rank, events in trace.by_rank().items():
        rows[rank] = {}
        for event in events:
            rows[rank].setdefault(joined.get(event.lane, event.lane), []).append(event)
    return rows


def _overlap(some: list[Event], others: list[Event]) -> bool:
    """Return whether an event of each list overlap, by more than a nanosecond."""
    edges = sorted([*((e, 0) for e in some), *((e, 1) for e in others)], key=lambda x: x[0].start)
    ends = [float("-inf"), float("-inf")]
    for event, which in edges:
        if event.start < ends[1 - which] - 1e-9:
            return True
        ends[which] = max(ends[which], event.end)
    return False


def _heights(ranks: int, lanes: list[str]) -> dict[str, float]:
    """Return the height of each lane in pixels: the more ranks, the flatter."""
    compute, other = (26, 15) if ranks <= 12 else (18, 13) if ranks <= 24 else (8, 4)
    if ranks > 100:
        compute, other = 3, 1.5
    return {lane: compute if lane == "compute" else other for lane in lanes}


def _gap(ranks: int) -> float:
    return 10 if ranks <= 12 else 7 if ranks <= 24 else 2 if ranks <= 100 else 0.5


def _tip(part: TraceSummary, e: Event) -> str:
    """Return all facts of an event in one line, for the tooltip."""
    words = [f"{e.kind} {e.name}".strip(), f"rank {e.rank}", part.time(e.duration)]
    words.append(f"from {part.time(e.start)} to {part.time(e.end)}")
    facts = e.info if e.info.get("bytes") else {k: v for k, v in e.info.items() if k != "bytes"}
    if "for" in facts:
        facts = facts | {"for": str(facts["for"]).lstrip("0123456789")}
    words += [f"{key.replace('_', ' ')} {value}" for key, value in facts.items()]
    return ", ".join(words)


def _draw_arrows(canvas, pairs, tops, heights, axis: TimeAxis) -> None:
    """Draw each message from the lanes of its sender to the lanes of its receiver."""
    below = 0.0
    for lane, height in heights.items():
        below += height + 2
        if lane == "communication":
            break
    for send, receive in pairs:
        down = tops[receive.rank] > tops[send.rank]
        y0 = tops[send.rank] + (below - 2 if down else 0)
        y1 = tops[receive.rank] + (0 if down else below - 2)
        start, end = (axis.x_of(send.start), y0), (axis.x_of(receive.end), y1)
        canvas.arrow(start, end, canvas.theme.muted, 1.0, 6)


def _unit(axis: TimeAxis) -> tuple[float, str]:
    return time_unit(axis.duration) if axis.unit == "s" else (1.0, axis.unit)


def _ticks(axis: TimeAxis) -> list[tuple[float, str]]:
    """Return (x, label) of each tick."""
    size, _ = _unit(axis)
    values = ticks(0, axis.duration / size, at_most=10)
    return [(axis.x_of(v * size), t) for v, t in zip(values, tick_labels(values), strict=True)]


def _draw_grid(canvas: Canvas, top: float, y: float, axis: TimeAxis, behind: int) -> None:
    """Draw lines at the ticks, behind every shape from number `behind` on."""
    grid = Canvas(canvas.width, 0, canvas.theme)
    for x, _ in _ticks(axis):
        grid.line([(x, top), (x, y)], canvas.theme.grid)
    canvas.shapes[behind:behind] = grid.shapes


def _draw_axis(canvas: Canvas, y: float, axis: TimeAxis) -> float:
    """Draw the labels of the ticks and the unit, and return the y below."""
    for x, label in _ticks(axis):
        canvas.text(x, y + 6, label, 11, canvas.theme.muted, "middle")
    middle = (axis.left + axis.right) / 2
    unit = f"time ({_unit(axis)[1]})"
    canvas.text(middle, y + 24, unit, 11, canvas.theme.muted, "middle")
    return y + 36
