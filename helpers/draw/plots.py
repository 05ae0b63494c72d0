"""Plots: curves with their names at their ends, and bars with their values."""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial

from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, MaxNLocator, NullLocator

from helpers.draw.picture import PT, Picture, box, boxes, canvas, legend, styled, write
from helpers.draw.style import CARD, CURVES, GRID, INK, MUTED, VERMILLION, WAIT, part_color
from helpers.draw.texts import PAD, WIDE, legend_rows, shortened, spread, width_of
from helpers.words import bytes_text, listed, percent, significant, time_text

HIGH = 300  # pixels of a plot
DASHES = ("-", (0, (5, 2)), (0, (1.2, 1.6)), (0, (8, 2, 1.5, 2)), (0, (11, 3)), (0, (3, 1.5)))
DOTS = (0, (1.5, 3))  # the floor
MARKERS = "s^DvPo"
SAME = 0.005  # of a plot's height, by which curves may differ and still be one
LARGE = ((1e12, "T"), (1e9, "B"), (1e6, "M"))  # of a count, as the field says them: 7 B parameters
Run = list[tuple[float, float]]


@styled
def curves(
    runs: Mapping[str, Sequence[float] | Mapping[float, float]],
    title: str = "",
    *,
    floor: float | None = None,
    quiet: Collection[str] = (),
    x: str = "step",
    y: str = "loss (nats per token)",
    log: str = "",
) -> Picture:
    """Draw several runs: ``curves({"one device": losses, "3 ranks": others}, floor=1.9)``.

    Two runs that give the same numbers are the finding of many lessons, so one must not hide the
    other: the lower ones are wide and pale, the topmost is thin.

    Args:
        runs: the values of each run at its steps 0, 1, 2 ..., or {step: value}. A value that isn't
            finite breaks the curve, and its name says so.
        floor: a line below which no curve can fall.
        quiet: the runs in the background that the others are compared with.
        x, y: what the axes show, with the unit.
        log: "x", "y" or "xy" for logarithmic axes.
    """
    if not runs:
        raise ValueError("curves() needs at least one run: {'name': [values]}")
    points = {name: _points(run) for name, run in runs.items()}
    for name, at, value in ((name, *point) for name, run in points.items() for point in run):
        if ("x" in log and at <= 0) or ("y" in log and value <= 0):
            words = f"{name} has {value:g} at {at:g}, and a logarithmic axis shows numbers above 0"
            raise ValueError(f"{words} only: leave this point out, or draw without log")
    value = time_text if "y" in log and y.endswith("(s)") else partial(significant, digits=4)
    names = {name: _name(name, run, value) for name, run in points.items()}
    floor_name = f"floor: {significant(floor, 4)}" if floor is not None else ""
    lone = floor is None and all(len(r) == 1 and math.isfinite(r[0][1]) for r in points.values())
    room = min(max(width_of(name) for name in (*names.values(), floor_name)), 0.4 * WIDE)
    right = PAD if lone else PAD + room + 44
    ax = canvas(HIGH, title, around=(26, right, 46, PAD + 48), axes=True)
    ax.set(xscale="log" if "x" in log else "linear", yscale="log" if "y" in log else "linear")
    ax.set_xlabel(x)
    write(ax, PAD, ax.high - HIGH - 64, y, 11, MUTED, page=True)
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0)
    ax.tick_params(which="minor", length=0)
    ax.grid(axis="y", lw=0.75)
    order = sorted(points, key=lambda name: name not in quiet)
    ends = []
    for number, name in enumerate(order):
        run = [(at, each) for at, each in points[name] if not math.isinf(each)]
        style = _look(number - len(quiet), name, order, points, quiet)
        every = max(1, len(run) // 7)
        # Or markers of like curves hide each other.
        ax.plot(*zip(*run or [(math.nan, math.nan)], strict=True), **style, label=name,
                markevery=(number * every // 3 % every, every))  # fmt: skip
        there = [p for p in run if math.isfinite(p[1])]
        ends.append((there[-1] if there else None, names[name], style))
    if floor is not None:
        style = {"color": INK, "lw": 1.2 * PT, "ls": DOTS}
        ax.axhline(floor, **style)
        ends.append(((None, floor), floor_name, style))
    _ticks(ax, [p[0] for run in points.values() for p in run], x, y, log)
    ax.margins(x=0.008 if any(len(run) > 1 for run in points.values()) else 0.04, y=0.06)
    ax.late = partial(_name_points if lone else _name_ends, ends=ends)
    ax.alt = _in_words(title, points, names, floor_name, x, y)
    return ax


def _points(run: Sequence[float] | Mapping[float, float]) -> Run:
    pairs = run.items() if isinstance(run, Mapping) else enumerate(run)
    return sorted((float(at), float(value)) for at, value in pairs)


def _name(name: str, run: Run, value: Callable[[float], str]) -> str:
    broken = [at for at, each in run if not math.isfinite(each)]
    if broken:
        return f"{name} (not a number at {broken[0]:g})"
    return f"{name}: {value(run[-1][1])}" if run else f"{name} (no values)"


def _look(number: int, name: str, order: list[str], points: Mapping[str, Run], quiet) -> dict:
    """Return how a curve is drawn: pale and wide where others lie on it."""
    if name in quiet:
        return {"color": WAIT, "lw": 1.2 * PT}
    style = {"color": CURVES[number % len(CURVES)], "ls": DASHES[number % len(DASHES)]}
    values = [v for run in points.values() for _, v in run if math.isfinite(v)]
    near = SAME * ((max(values) - min(values)) if values else 1)
    at = order.index(name)
    above = sum(_same(points[name], points[other], near) for other in order[at + 1 :])
    if above and len(points[name]) > 1:
        return style | {"lw": (1.8 + 4 * above) * PT, "ls": "-", "alpha": 0.45}
    other = (number + number // len(CURVES)) % len(MARKERS)  # as the colors begin anew
    return style | {"lw": 1.8 * PT, "marker": MARKERS[other], "ms": 6.5, "mec": CARD, "mew": 0.6}


def _same(a: Run, b: Run, near: float) -> bool:
    one, other = dict(a), dict(b)
    shared = one.keys() & other.keys()
    return bool(shared) and all(abs(one[at] - other[at]) <= near for at in shared)


def _ticks(ax: Picture, tried: list[float], x: str, y: str, log: str) -> None:
    """Let logarithmic axes say 1 kB, 1 ms or 1 M, and 1, 2, 4, 8 where that's what was tried."""
    powers = sorted(set(tried))
    of_two = len(powers) > 2 and all(v >= 1 and v == 2 ** round(math.log2(v)) for v in powers)
    for letter, axis, name in (("x", ax.xaxis, x), ("y", ax.yaxis, y)):
        if letter not in log:
            whole = letter == "x" and all(v == int(v) for v in tried)
            axis.set_major_locator(MaxNLocator(9 if letter == "x" else 7, integer=whole,
                                               steps=[1, 2, 5, 10]))  # fmt: skip
            continue
        values = [v for line in ax.lines for v in getattr(line, f"get_{letter}data")() if v > 0]
        values = [v for v in values if math.isfinite(v)] or [1]
        decades = math.log10(max(values) / min(values))
        axis.set_major_locator(LogLocator(subs=(1, 2, 5) if decades < 2.2 else (1,), numticks=9))
        if letter == "x" and of_two and not name.startswith("bytes"):
            axis.set_major_locator(FixedLocator(powers[:: -(-len(powers) // 10)]))
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(FuncFormatter(lambda value, _, name=name: _tick(value, name)))


def _tick(value: float, name: str) -> str:
    """Return a value of a logarithmic axis with the unit that the axis counts in."""
    if name.startswith("bytes"):
        return bytes_text(value)
    if name.endswith("(s)"):
        return time_text(value)
    for size, letter in LARGE:
        if size <= value < 1000 * size:
            return f"{value / size:g} {letter}"
    return f"{value:,g}"


def _name_ends(ax: Picture, ends: list) -> None:
    """Write each name beside the end of its line, with a sample, none touching another."""
    ax.get_xlim(), ax.get_ylim()  # which end the scaling
    to_pixels, area = ax.transData.transform, ax.bbox
    high = [to_pixels((1, end[1]))[1] if end else area.y1 for end, _, _ in ends]
    # Curves that are one stand in the order given, from above.
    wanted = sorted(range(len(ends)), key=lambda n: (round(high[n]), -n))
    apart = min(17.0, area.height / max(len(ends) - 1, 1))
    places = spread([high[n] for n in wanted], apart, area.y0 - 10, area.y1 + 8)
    left, right = 1 + 8 / area.width, 1 + 34 / area.width
    room = ax.wide - PAD - area.x1 - 40
    for n, place in zip(wanted, places, strict=True):
        end, text, style = ends[n]
        at = (place - area.y0) / area.height
        look = {"transform": ax.transAxes, "clip_on": False}
        bare = {k: v for k, v in style.items() if k != "marker"} | {"lw": min(style["lw"], 10 * PT)}
        ax.plot([left, right], [at, at], **look, **bare, scalex=False, scaley=False)
        if "marker" in style:
            ax.plot([(left + right) / 2], [at], **look, **style, scalex=False, scaley=False)
        near = end and end[0] is not None and area.x1 - to_pixels(end)[0] < 40
        if near and abs(high[n] - place) > 6:
            thin = {"arrowstyle": "-", "color": GRID, "lw": 0.8, "shrinkA": 0, "shrinkB": 0}
            ax.annotate("", end, (left, at), "data", "axes fraction", thin, False)
        ink, words = MUTED if style["color"] == WAIT else INK, shortened(text, 12, room)
        write(ax, area.x1 + 40, ax.figure.bbox.height - place, words, 12, ink, page=True)


def _name_points(ax: Picture, ends: list) -> None:
    """Write each name beside its point, where the plot has room for it, none on another."""
    ax.get_xlim(), ax.get_ylim()  # which end the scaling
    taken: list[tuple[float, float, float]] = []
    for (x, y), text in sorted((tuple(ax.transData.transform(end)), text) for end, text, _ in ends):
        text = shortened(text, 12, max(ax.bbox.x1 - x, x - ax.bbox.x0) - 11)
        wide = width_of(text, 12)
        left = x + 10 if x + 10 + wide < ax.bbox.x1 else x - 10 - wide
        while any(abs(y - b) < 15 and left < a + w and a < left + wide for a, b, w in taken):
            y += 3
        taken.append((left, y, wide))
        write(ax, left, ax.figure.bbox.height - y, text, 12, page=True, behind=CARD)


def _in_words(title: str, points: Mapping[str, Run], names, floor: str, x: str, y: str) -> str:
    sentences = [f"Curves of {y} over {x}.", *([f"{title}."] if title else [])]
    for name, run in points.items():
        there = [(at, value) for at, value in run if math.isfinite(value)]
        if there:
            (first, start), (last, end) = there[0], there[-1]
            values = f"{significant(start, 4)} at {first:g}"
            values += f", {significant(end, 4)} at {last:g}" if last > first else ""
            sentences.append(f"{name}: {values}.")
        if "(not a number" in names[name] or not run:
            sentences.append(f"{names[name]}.")
    every = list(points.values())
    if len(every) > 1 and every[0] and all(run == every[0] for run in every[1:]):
        sentences.append("They have exactly the same values.")
    return " ".join([*sentences, *([f"The {floor.replace(':', ' is')}."] if floor else [])])


@styled
def bars(
    rows: Mapping[str, Mapping[str, float]],
    title: str = "",
    *,
    text: Callable[[float], str] = bytes_text,
    limit: float | None = None,
    limit_name: str = "limit",
) -> Picture:
    """Draw a bar for each row of {name: {part: size}}, with the values in it, or above it.

    Each part has the color of its cause in `helpers.draw.style`.

    text: returns a size in words. limit, limit_name: where a line is drawn, and what it's called;
    what lies beyond it does not fit, and is framed.
    """
    if not rows:
        raise ValueError("bars() needs at least one row: {'name': {'part': size}}")
    for name, row in rows.items():
        for part, size in row.items():
            if not (math.isfinite(size) and size >= 0):
                raise ValueError(f"{part} of {name or 'the bar'} is {size}: a bar shows 0 or more")
    parts = list(dict.fromkeys(part for row in rows.values() for part, size in row.items() if size))
    totals = {name: sum(row.values()) for name, row in rows.items()}
    left = PAD + max(map(width_of, rows)) + (10 if any(rows) else 0)
    right = PAD + 14 + max(width_of(text(total), 12, True) for total in totals.values())
    scale = (WIDE - left - right) / (max(*totals.values(), limit or 0) or 1.0)
    key = legend_rows((part_color(p), str(n), p) for n, p in enumerate(parts, 1))
    below = 20 * len(key) + 10 + (14 if limit is not None else 0)
    ax = canvas(53 * len(rows), title, around=(0, right, below, left))
    said = [f"Bars. {title}." if title else "Bars."]
    for number, (name, row) in enumerate(rows.items()):
        y, total = 53 * number + 15, totals[name]
        write(ax, PAD - left, y + 13, name, 12)
        _bar(ax, row, parts, text, (y, scale, WIDE - left - PAD))
        ink, more = INK, ""
        if limit is not None and total > limit:
            ink, more = VERMILLION, f", more than the {text(limit)} there are"
            frame = {"edgecolor": ink, "lw": 3 * PT, "zorder": 3}
            boxes(ax, [(limit * scale, (total - limit) * scale)], [(y - 2, 30)], "none", **frame)
        write(ax, total * scale + 6, y + 13, text(total), 12, ink, bold=True)
        shares = [f"{p} {percent(size / total)}" for p, size in row.items() if size > total / 50]
        said.append(f"{name or 'In all'}: {text(total)}{more}; {listed(shares or ['nothing'])}.")
    if limit is not None:
        bottom, words = 53 * len(rows), f"{limit_name} {text(limit)}"
        ax.vlines(limit * scale, 8, bottom - 8, color=INK, lw=2 * PT, ls=DASHES[1], clip_on=False)
        at = min(limit * scale, WIDE - left - PAD - width_of(words, 11) / 2)
        write(ax, at, bottom + 1, words, 11, MUTED, "center")
    legend(ax, key, ax.high - 20 * len(key) - 6)
    ax.alt = " ".join(said)
    return ax


def _bar(ax: Picture, row: Mapping[str, float], parts: list[str], text, place) -> None:
    """Draw the parts of a bar; the values that find no room in them stand above."""
    (y, scale, right), x, above = place, 0.0, []
    for number, part in enumerate(parts, 1):
        size, color = row.get(part, 0.0), part_color(part)
        wide, value = size * scale, f"{number}: {text(size)}"
        inside = [w for w in (f"{part} {text(size)}", value) if width_of(w, 11) <= wide - 8]
        if wide > 0.002 * right and not inside:
            above.append((x + wide / 2, value))
        if wide:
            edge = {"edgecolor": CARD, "lw": 0.6} if color else {}  # hatching has none
            box(ax, x, y, wide, 26, color, (inside or [str(number)])[0], 11, **edge)
        x += wide
    apart = max((width_of(value, 10) for _, value in above), default=0) + 8
    middles = spread([middle for middle, _ in above], apart, apart / 2, right - apart / 2)
    for at, (_, value) in zip(middles, above, strict=True):
        write(ax, at, y - 9, value, 10, MUTED, "center")
