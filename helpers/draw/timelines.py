"""The timeline of a trace: a row for each rank, time from left to right.

Computing is drawn in boxes with letters, communication in gray below it. Where a rank waits, its
row is hatched behind its work; idle time of which nothing is known stays empty. All traces of a
picture share one axis: equal lengths are equal times.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from helpers.draw.findings import TraceSummary, compared, found_in, in_words
from helpers.draw.picture import Picture, boxes, canvas, legend, styled, write
from helpers.draw.rows import Row, arrow_ends, kind_of, labels, laid_out, pairs, shades, summarized
from helpers.draw.style import BAND, BLUE, CARD, HATCHED, INK, MUTED, UNKNOWN, WAIT, ink_on, look
from helpers.draw.texts import PAD, WIDE, legend_rows, shortened, width_of, wrapped
from helpers.trace import COLLECTIVES, Event, Trace, has_finished
from helpers.words import time_unit

RASTER = 1500  # boxes of one look, beyond which an SVG holds them as pixels
MAX_UNKNOWN = 3  # kinds without a look of their own that the legend names
RIGHT, BELOW = PAD + 76, 42  # pixels beside the rows, for "busy 73 %", and below, for the axis


class Scale(NamedTuple):
    size: float  # seconds of the unit that the axis names
    longest: float  # of that unit
    pixels: float  # of one of it


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
    """
    parts = summarized("lanes", traces if isinstance(traces, Mapping) else {"": traces})
    found = found_in(parts[0]) if len(parts) == 1 else ""
    note = wrapped(found, 12, WIDE - 2 * PAD)
    key = legend_rows(_entries(parts, pale is None))
    rows = laid_out(parts)
    bottom = rows[-1][-1].top + rows[-1][-1].high
    above = 17 * len(note) + 20 * len(key) + 12
    left = PAD + 10 + min(130, max(width_of(r.left) for mine in rows for r in mine if r.lane))
    ax = canvas(bottom, title, around=(above, RIGHT, BELOW, left), axes=True)
    ax.alt = in_words(title or found or compared(parts), parts)
    top = ax.high - BELOW - bottom - above
    for number, line in enumerate(note):
        write(ax, PAD, top + 7 + 17 * number, line, 12, MUTED, page=True)
    legend(ax, key, top + 17 * len(note) + 4)
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


def _draw_part(ax: Picture, part: TraceSummary, rows: list[Row], scale: Scale, pale, left) -> None:
    if part.name:
        heading, *rows = rows
        words = shortened(heading.left, 12, 0.87 * (WIDE - 2 * PAD))  # as it's bold
        write(ax, left, heading.top + 10, words, 12, bold=True)
        boxes(ax, [(0, scale.longest)], [(heading.top - 4, 28)], CARD, zorder=0.6)  # no grid there
    boxes(ax, [(0, scale.longest)] * len(rows), [(r.top, r.high) for r in rows], BAND, zorder=0)
    if not part.trace.ranks:
        words = "nothing was recorded"
        write(ax, scale.longest / 2, rows[0].top + 13, words, 12, MUTED, "center")
        return
    work = [row for row in rows if row.lane == "compute"]
    pitch = (rows[-1].top + rows[-1].high - rows[0].top) / len(work)
    named = {row.rank for row in work[:: max(1, round(14 / pitch))]}
    beside, right = -10 / scale.pixels, scale.longest + 10 / scale.pixels
    for row in rows:
        middle, works = row.top + row.high / 2, row.lane == "compute"
        if row.rank in named if works else row.high >= 10:
            size, ink = (12, INK) if works else (10, MUTED)
            write(ax, beside, middle, shortened(row.left, size, 120), size, ink, "right")
            write(ax, right, middle, row.right, size - works, MUTED)
        if row.steps:
            times, shares = np.array([(0, 0), *row.steps, (part.duration, row.steps[-1][1])]).T
            bottom = row.top + row.high
            tops, gray = bottom - row.high * shares, {"facecolor": WAIT, "alpha": 0.5, "lw": 0}
            ax.fill_between(times / scale.size, bottom, tops, step="post", **gray)
        _draw_row(ax, row, scale, pale)
    if arrows := arrow_ends(part.trace, rows):
        x0, y0, x1, y1 = np.array(arrows).T * [[1 / scale.size], [1], [1 / scale.size], [1]]
        style = {"units": "dots", "width": 1, "headwidth": 5, "headlength": 5, "headaxislength": 5}
        # Below the boxes, and so below their letters.
        style |= {"angles": "xy", "scale_units": "xy", "scale": 1, "clip_on": False, "zorder": 0.95}
        ax.quiver(x0, y0, x1 - x0, y1 - y0, color=MUTED, **style)


def _draw_row(ax: Picture, row: Row, scale: Scale, pale) -> None:
    """Draw all events of a look at once, then the letters where they fit."""
    strength = shades(row.events)

    def strong(e: Event) -> float:
        if e.kind == "wait" or pale:
            return 0.45 if e.kind != "wait" and pale(e) else 1.0
        return strength.get(e.info.get("stage"), 1.0)

    alike: dict[tuple, list] = defaultdict(list)
    for e in row.events:
        wide = e.duration / scale.size
        if wide:
            like = alike[kind_of(e), strong(e), wide * scale.pixels > 4]
            like.append((e.start / scale.size, wide))
    # The inner of nested events is shorter, and lies on top.
    inner_last = sorted(alike.items(), key=lambda each: -max(wide for _, wide in each[1]))
    colors = {"wait": HATCHED, "finished": WAIT}
    for (kind, alpha, apart), spans in inner_last:
        behind = kind in ("wait", "finished")
        flat = (row.top + row.high / 2 - 0.7, 1.4)
        places = [flat if kind == "finished" else (row.top, row.high)] * len(spans)
        style = {"edgecolor": CARD, "lw": 0.8} if apart and not behind else {}
        if alpha < 1:  # what lies behind doesn't shine through
            boxes(ax, spans, places, CARD, zorder=0.96)
        style |= {"alpha": alpha, "zorder": 0.9 if behind else 1}
        style["rasterized"] = len(spans) > RASTER
        boxes(ax, spans, places, colors.get(kind, look(kind).color), **style)
    work = [e for e in row.events if e.kind != "wait"]
    for number, e in enumerate(row.events if row.high >= 10 else ()):
        room, middle = e.duration / scale.size * scale.pixels - 1, (e.start + e.end) / 2
        if room < 8 or has_finished(e):
            continue
        later, x = row.events[number + 1 : number + 9], middle / scale.size
        if e.kind == "wait":  # it has the room, unless work goes on meanwhile
            if not any(o.start < e.end and o.end > e.start for o in work):
                _label(ax, row, [(11, text) for text in labels(e)], x, room - 15, INK, BAND)
        elif not any(o.start <= middle < o.end for o in later if o.kind != "wait"):
            tries = [(12 if row.high >= 18 else 10, text) for text in labels(e)]
            tries.append((10, labels(e)[-1]))
            _label(ax, row, tries, x, room, ink_on(look(e.kind).color, strong(e)))
    for start, end in pairs(row):  # F&B are one action
        left, right = start / scale.size + 0.6 / scale.pixels, end / scale.size - 1.4 / scale.pixels
        place, style = (row.top + 0.6, row.high - 1.2), {"edgecolor": INK, "lw": 1.05}
        boxes(ax, [(left, right - left)], [place], "none", zorder=3, **style)


def _label(ax: Picture, row: Row, tries, x: float, room: float, ink: str, behind="") -> None:
    """Write the first (size, text) that fits, in one line or, in a box of work, in two."""
    bold = row.high >= 18 and not behind
    for size, text in tries:
        if width_of(text, size, bold) <= room - 2 * (len(text) > 1):  # or neighbors run together
            middle = row.top + row.high / 2
            write(ax, x, middle, text, size, ink, "center", bold, behind=behind)
            return
        lines = text.split(" ") if row.high >= 24 and not behind else []
        if len(lines) == 2 and max(width_of(line, 10) for line in lines) <= room:
            for line, share in zip(lines, (0.28, 0.72), strict=True):
                write(ax, x, row.top + row.high * share, line, 10, ink, "center")
            return


def _entries(parts: list[TraceSummary], by_stage: bool) -> list[tuple[str, str, str]]:
    events = [e for part in parts for e in part.trace.events]
    kinds = {kind_of(e) for e in events if e.duration}
    entries = [look(kind) for kind in ("F", "B", "I", "W", "update", "input") if kind in kinds]
    unknown = sorted(kind for kind in kinds if look(kind).color == UNKNOWN)
    gray = look("send").color
    entries += [(gray, "", "message")] if kinds & {"send", "recv"} else []
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
