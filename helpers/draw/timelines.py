"""The timeline of a trace: a row for each rank, time from left to right.

Computing is drawn in boxes with letters, communication in gray below it. Where a rank waits, its
row is hatched behind its work; idle time of which nothing is known stays empty. All traces of a
picture share one axis: equal lengths are equal times.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from helpers.draw.findings import (
    TraceSummary,
    comparable,
    compared,
    found_in,
    in_words,
    memory_name,
)
from helpers.draw.picture import (
    PAD,
    WIDE,
    Picture,
    boxes,
    canvas,
    legend,
    legend_height,
    shortened,
    styled,
    width_of,
    wrapped,
    write,
)
from helpers.draw.style import (
    BAND,
    BLUE,
    CARD,
    HATCHED,
    INK,
    LOOKS,
    MUTED,
    UNKNOWN,
    WAIT,
    ink_on,
    look,
)
from helpers.trace import COLLECTIVES, LANES, Event, Trace, has_finished, matched_messages, peak
from helpers.words import bytes_text, percent, time_unit

ARROWS = 80  # in one picture
MOST = 256  # ranks in one picture
RASTER = 1500  # boxes of one look, beyond which an SVG holds them as pixels
MAX_LANES, MAX_UNKNOWN = 4, 3  # of a rank; kinds without a look of their own that the legend names
RIGHT, BELOW = PAD + 76, 42  # pixels beside the rows, for "busy 73 %", and below, for the axis


@dataclass
class Row:
    """A lane of a rank: its place in pixels, its events in the order they start."""

    rank: int
    lane: str
    top: float
    high: float
    events: list[Event] = field(default_factory=list)


@dataclass
class Scale:
    """size: seconds of the unit that the axis names. longest: of it, and pixels of one."""

    size: float
    longest: float
    pixels: float


@styled
def lanes(
    traces: Trace | Mapping[str, Trace],
    title: str = "",
    *,
    pale: Callable[[Event], bool] | None = None,
) -> Picture:
    """Draw one trace, or several on one axis: ``lanes({"predicted": a, "measured": b})``.

    Waits are computed from the events of all ranks, and each trace starts at its own first event.
    Memory is drawn if every trace counts it. The axis counts in the unit that it names: after
    ``ax = lanes(trace)``, ``ax.axvline(12)`` marks 12 of it.

    Args:
        title: what was found, in a sentence; without one, the numbers of a trace stand above it.
        pale: whether an event is drawn pale; without it, the later stages of a rank are.

    Raises:
        ValueError: without a trace, or with more ranks than a picture has room for.
    """
    parts = _parts(traces)
    found = found_in(parts[0]) if len(parts) == 1 else ""
    note = wrapped(found, 12, WIDE - 2 * PAD)
    entries = _entries(parts, pale is None)
    rows, bottom = _rows(parts)
    above = 17 * len(note) + legend_height(entries) + 12
    left = PAD + 10 + max(_widths(rows))
    ax = canvas(bottom, title, around=(above, RIGHT, BELOW, left), axes=True)
    ax.alt = in_words(title or found or compared(parts), parts)
    top = ax.high - BELOW - bottom - above
    for number, line in enumerate(note):
        write(ax, PAD, top + 7 + 17 * number, line, 12, MUTED, page=True)
    legend(ax, entries, top + 17 * len(note) + 4)
    longest, unit = max(part.duration for part in parts), parts[0].trace.meta.get("unit", "s")
    size, unit = time_unit(longest) if unit == "s" and longest else (1.0, unit)
    scale = Scale(size, longest / size or 1.0, (WIDE - left - RIGHT) / (longest / size or 1.0))
    ax.set(xlim=(0, scale.longest), ylim=(bottom, 0), yticks=[])
    if longest:
        ax.set_xlabel(f"time ({unit})")
    else:
        ax.set_xticks([])
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0, pad=5)
    ax.grid(axis="x", lw=0.75)
    for part, mine in zip(parts, rows, strict=True):
        _draw_part(ax, part, mine, scale, pale, (PAD - left) / scale.pixels)
    return ax


def _parts(traces: Trace | Mapping[str, Trace]) -> list[TraceSummary]:
    given = traces if isinstance(traces, Mapping) else {"": traces}
    if not given:
        raise ValueError("lanes() needs at least one trace: lanes({'measured': trace})")
    most = max(len(trace.ranks) for trace in given.values())
    if most > MOST:
        raise ValueError(
            f"{most:,} ranks find no room in a picture, which shows {MOST} at most: keep the "
            "events of some of them, or trace.save('run.json.gz') for https://ui.perfetto.dev"
        )
    return comparable([TraceSummary(name, trace) for name, trace in given.items()])


def _rows(parts: list[TraceSummary]) -> tuple[list[list[Row]], float]:
    """Return the rows of each trace, and the y below all; a heading has a row without a lane."""
    rows, y = [], 4.0
    ranks = max(len(part.trace.ranks) for part in parts)
    high, low, gap = (26, 13, 9) if ranks <= 12 else (18, 10, 5) if ranks <= 24 else (8, 4, 2)
    if ranks > 100:
        high, low, gap = 3, 1.5, 0.5
    for part in parts:
        trace, mine = part.trace, []
        if part.name:
            mine.append(Row(-1, "", y, 20))
            y += 26
        by_rank = trace.by_rank() or {0: []}
        turns = not any(map(_reads_meanwhile, by_rank.values()))
        joined = {"input": "compute"} if turns else {}
        used = {joined.get(e.lane, e.lane) for e in trace.events if e.duration and e.kind != "wait"}
        drawn = ["compute", *(n for n in LANES[1:] if n in used), *sorted(used - set(LANES))]
        between = 18 if high > 18 and 0 < len(matched_messages(trace)) <= ARROWS else gap
        for rank, events in by_rank.items():
            by_lane = defaultdict(list)
            for event in events:
                lane = "compute" if event.kind == "wait" else event.lane
                by_lane[joined.get(lane, lane)].append(event)
            for lane in drawn[:MAX_LANES]:
                tall = high if lane == "compute" else low
                mine.append(Row(rank, lane, y, tall, by_lane[lane]))
                y += tall + (1 if high > 3 else 0)
            if ranks <= 24 and _most(trace):
                mine.append(Row(rank, "memory", y + 1, 22))
                y += 24
            y += between
        y += 12 * bool(part.name)
        rows.append(mine)
    return rows, y - between - 12 * bool(part.name)


def _most(trace: Trace) -> float:
    """Return the highest memory of any rank."""
    return max(peak(trace, memory_name(trace)).values(), default=0)


def _reads_meanwhile(events: list[Event]) -> bool:
    """Return whether a rank reads input while it computes; else input needs no lane of its own."""
    ends = {"input": float("-inf"), "compute": float("-inf")}
    for e in events:
        if e.lane in ends and e.kind != "wait":
            other = "compute" if e.lane == "input" else "input"
            if e.start < ends[other] - 1e-9:
                return True
            ends[e.lane] = max(ends[e.lane], e.end)
    return False


def _widths(rows: list[list[Row]]) -> list[float]:
    """Return the widths of what stands left of the rows."""
    every = [row for mine in rows for row in mine]
    lanes_of_their_own = {row.lane for row in every} - set(LANES)
    names = [width_of(f"rank {row.rank}") for row in every]
    return names + [min(width_of(lane, 10), 110) for lane in lanes_of_their_own]


def shades(events: list[Event]) -> dict[int, float]:
    """Return how strong the color of each stage of a rank is: its later stages are paler."""
    stages = sorted({e.info["stage"] for e in events if e.kind in "FBIW" and "stage" in e.info})
    return {s: 1 - 0.55 * n / max(len(stages) - 1, 1) for n, s in enumerate(stages)}


def labels(event: Event) -> list[str]:
    """Return what may stand in an event's box, the best first.

    An event that knows its layer says so: "F0 L2" is forward of micro-batch 0 through layer 2.
    """
    kind, info, letter = event.kind, event.info, look(event.kind).letter
    if kind == "wait":
        until = info.get("until")
        if info.get("cause") == "memory":
            return ["waits for memory", "waits"]
        return [f"waits for rank {until}", "waits"] if until is not None else ["waits"]
    if kind in ("F", "B", "I", "W"):
        plain = [f"{letter}{info['micro_batch']}", letter] if "micro_batch" in info else [letter]
    else:
        known = kind in LOOKS or kind in COLLECTIVES
        plain = [kind if known else event.name or kind, letter]
    return [f"{plain[0]} L{info['layer']}", *plain] if "layer" in info else plain


def _draw_part(ax: Picture, part: TraceSummary, rows: list[Row], scale: Scale, pale, left) -> None:
    trace = part.trace
    if part.name:
        heading, *rows = rows
        found = found_in(part)
        words = found if found.startswith(part.name) else f"{part.name}: {found}"
        words = shortened(words, 12, 0.87 * (WIDE - 2 * PAD))  # as it's bold
        write(ax, left, heading.top + 10, words, 12, bold=True)
        boxes(ax, [(0, scale.longest)], [(heading.top - 4, 28)], CARD, zorder=0.6)  # no grid there
    boxes(ax, [(0, scale.longest)] * len(rows), [(r.top, r.high) for r in rows], BAND, zorder=0)
    if not trace.ranks:
        words = "nothing was recorded"
        write(ax, scale.longest / 2, rows[0].top + 13, words, 12, MUTED, "center")
        return
    ranks = [row for row in rows if row.lane == "compute"]
    pitch = (rows[-1].top + rows[-1].high - rows[0].top) / len(ranks)
    named = {row.rank for row in ranks[:: max(1, round(14 / pitch))]}
    beside, right = -10 / scale.pixels, scale.longest + 10 / scale.pixels
    for row in rows:
        middle = row.top + row.high / 2
        if row.lane == "compute" and row.rank in named:
            write(ax, beside, middle, f"rank {row.rank}", at="right")
            write(ax, right, middle, f"busy {percent(part.busy(row.rank))}", 11, MUTED)
        elif row.lane not in LANES and row.high >= 10:
            write(ax, beside, middle, shortened(row.lane, 10, 110), 10, MUTED, "right")
        if row.lane == "memory":
            _draw_memory(ax, trace, row, scale, right)
        else:
            _draw_row(ax, row, scale, pale)
    _draw_messages(ax, trace, rows, scale)


def _draw_row(ax: Picture, row: Row, scale: Scale, pale) -> None:
    """Draw all events of a look at once, then the letters where they fit."""
    strength = shades(row.events)

    def strong(e: Event) -> float:
        if pale:
            return 0.45 if pale(e) else 1.0
        return strength.get(e.info.get("stage"), 1.0)

    alike: dict[tuple, list] = defaultdict(list)
    for e in row.events:
        wide = e.duration / scale.size
        if wide:
            kind = "finished" if has_finished(e) else e.kind
            alike[kind, strong(e), wide * scale.pixels > 4].append((e.start / scale.size, wide))
    # The inner of nested events is shorter, and lies on top.
    inner_last = sorted(alike.items(), key=lambda each: -max(wide for _, wide in each[1]))
    colors = {"wait": HATCHED, "finished": WAIT}
    for (kind, alpha, apart), spans in inner_last:
        behind = kind in ("wait", "finished")
        flat = (row.top + row.high / 2 - 0.7, 1.4)
        places = [flat if kind == "finished" else (row.top, row.high)] * len(spans)
        style = {"edgecolor": CARD, "lw": 0.8} if apart and not behind else {}
        style |= {"alpha": alpha, "zorder": 0.9 if behind else 1}
        boxes(ax, spans, places, colors.get(kind, look(kind).color), **style).set_rasterized(
            len(spans) > RASTER
        )
    for number, e in enumerate(row.events if row.high >= 10 else ()):
        room, middle = e.duration / scale.size * scale.pixels - 1, (e.start + e.end) / 2
        if room < 8 or has_finished(e):
            continue
        later = row.events[number + 1 : number + 9]
        if e.kind == "wait":
            _label_wait(ax, row, e, scale)
        elif not any(o.start <= middle < o.end for o in later if o.kind != "wait"):
            ink = ink_on(look(e.kind).color, strong(e))
            _label(ax, labels(e), middle / scale.size, row, room, ink)
    for pair in {e.info["pair"] for e in row.events if "pair" in e.info}:  # F&B are one action
        both = [e for e in row.events if e.info.get("pair") == pair]
        start, end = (min(e.start for e in both), max(e.end for e in both))
        start, end = start / scale.size + 0.6 / scale.pixels, end / scale.size - 1.4 / scale.pixels
        place, style = (row.top + 0.6, row.high - 1.2), {"edgecolor": INK, "lw": 1.05}
        boxes(ax, [(start, end - start)], [place], "none", zorder=3, **style)


def _label(ax: Picture, texts: list[str], x: float, row: Row, room: float, ink: str) -> None:
    """Write the best text that fits, in one line or in two."""
    bold = row.high >= 18
    for size, text in [(12 if bold else 10, text) for text in texts] + [(10, texts[-1])]:
        if width_of(text, size, bold) <= room:
            write(ax, x, row.top + row.high / 2, text, size, ink, "center", bold)
            return
        lines = text.split(" ")
        if row.high >= 24 and len(lines) == 2 and max(width_of(w, 10) for w in lines) <= room:
            for line, share in zip(lines, (0.28, 0.72), strict=True):
                write(ax, x, row.top + row.high * share, line, 10, ink, "center")
            return


def _label_wait(ax: Picture, row: Row, wait: Event, scale: Scale) -> None:
    """Write why a rank waits into the widest gap that its work leaves."""
    over = [e for e in row.events if e.kind != "wait" and e.start < wait.end and e.end > wait.start]
    gaps, at = [], wait.start
    for left, right in [*((e.start, e.end) for e in over), (wait.end, wait.end)]:
        gaps.append((left - at, (at + left) / 2))
        at = max(at, right)
    room, middle = max(gaps)
    for text in labels(wait):
        if width_of(text, 11) <= room / scale.size * scale.pixels - 16:
            y = row.top + row.high / 2
            write(ax, middle / scale.size, y, text, 11, INK, "center", behind=BAND)
            return


def _draw_memory(ax: Picture, trace: Trace, row: Row, scale: Scale, right: float) -> None:
    name = memory_name(trace)
    counts = [c for c in trace.counters if c.rank == row.rank and c.name == name]
    times = [0, *(c.time / scale.size for c in counts), trace.duration / scale.size]
    values = np.array([0, *(max(c.value, 0) for c in counts), counts[-1].value if counts else 0])
    bottom = row.top + row.high
    tops = bottom - row.high * values / _most(trace)
    ax.fill_between(times, bottom, tops, step="post", facecolor=WAIT, alpha=0.5, lw=0)
    if counts:
        most = max(c.value for c in counts)
        words = bytes_text(most) if name == "memory" else f"{most / 1e6:.3g} M"
        write(ax, right, row.top + row.high / 2, f"peak {words}", 10, MUTED)


def _draw_messages(ax: Picture, trace: Trace, rows: list[Row], scale: Scale) -> None:
    """Draw each message as an arrow from the sender's lanes to the receiver's."""
    messages = matched_messages(trace)
    if not 0 < len(messages) <= ARROWS:
        return
    tops = {r.rank: r.top for r in rows if r.lane == "compute"}
    ends = {r.rank: r.top + r.high for r in rows if r.lane in ("compute", "communication")}
    x = np.array([(sent.start, got.end) for sent, got in messages]).T / scale.size
    pairs = ((sent.rank, got.rank) for sent, got in messages)
    y = [(ends[a], tops[b]) if tops[b] > tops[a] else (tops[a], ends[b]) for a, b in pairs]
    y = np.array(y).T
    style = {"units": "dots", "width": 1, "headwidth": 5, "headlength": 5, "headaxislength": 5}
    # Below the boxes, and so below their letters.
    style |= {"angles": "xy", "scale_units": "xy", "scale": 1, "clip_on": False, "zorder": 0.95}
    ax.quiver(x[0], y[0], x[1] - x[0], y[1] - y[0], color=MUTED, **style)


def _entries(parts: list[TraceSummary], by_stage: bool) -> list[tuple[str, str, str]]:
    """Return (color, letter, word) of the legend, in a fixed order."""
    events = [e for part in parts for e in part.trace.events]
    kinds = {"finished" if has_finished(e) else e.kind for e in events if e.duration}
    sent, unknown = kinds & {"send", "recv"}, sorted(kinds - set(LOOKS) - COLLECTIVES)
    entries = [LOOKS[kind] for kind in ("F", "B", "I", "W", "update", "input") if kind in kinds]
    gray = look("send").color
    entries += [(gray, "", "message")] if sent else []
    if kinds & COLLECTIVES:
        entries.append((gray, "", ", ".join(sorted(kinds & COLLECTIVES))))
    entries += [(HATCHED, "", "waiting")] if "wait" in kinds else []
    entries += [(WAIT, "", "finished")] if "finished" in kinds else []
    if unknown:
        more = f" and {len(unknown) - MAX_UNKNOWN} more" if len(unknown) > MAX_UNKNOWN else ""
        entries.append((UNKNOWN, "", ", ".join(unknown[:MAX_UNKNOWN]) + more))
    rows = [row for part in parts for row in part.trace.by_rank().values()]
    if by_stage and any(len(shades(row)) > 1 for row in rows):
        entries.append((f"{BLUE}73", "", "pale: a later stage of the rank"))
    if any("pair" in e.info for e in events):
        entries.append((MUTED, "F|B", "framed: a pair, one action"))
    return entries
