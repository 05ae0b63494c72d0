"""One lane of a timeline: boxes where they fit, and a fair summary elsewhere; and the legend.

A hundred thousand events don't fit on 700 pixels as boxes. So events narrower than about a pixel
are summed up column by column: each color fills as much of the lane's height as its kind took of
the time. A zoomed-out row still shows how busy a rank is, and with what.
"""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, replace

from helpers.draw.picture import FLAT_LINE, Canvas
from helpers.draw.style import LOOKS, UNKNOWN, ink_on, look
from helpers.draw.text import first_that_fits, width_of
from helpers.trace import COLLECTIVES, Counter, Event, Trace, has_finished
from helpers.words import bytes_text

NARROW = 1.6  # pixels: anything below is summed up if its neighbors are as narrow
# The order in which colors are stacked, the same in every row; "" is waiting.
ORDER = [*dict.fromkeys(each.color for each in LOOKS.values()), UNKNOWN, ""]
MAX_UNKNOWN = 3  # kinds without a look of their own that the legend names
FLAT = 1.5  # pixels: the line of a rank that has finished
TIPS = 1500  # boxes in one picture that may carry a text for the pointer


@dataclass(slots=True)
class TimeAxis:
    """The time axis: its ends in pixels, and how many seconds (or other units) lie between."""

    left: float
    right: float
    duration: float
    unit: str = "s"  # of the trace; anything but seconds is shown as it is

    def x_of(self, seconds: float) -> float:
        return self.left + (self.right - self.left) * seconds / self.duration


@dataclass(slots=True)
class Lane:
    """The place of a lane, in pixels. x_of: converts seconds on the trace's clock to x."""

    y: float
    height: float
    x_of: Callable[[float], float]
    letters: float = 12.0  # font size, 10 at least; 0: no room for letters


def draw_lane(canvas: Canvas, lane: Lane, events: list[Event], tip: Callable[[Event], str]) -> None:
    """Draw the events (in the order they start) of one lane."""
    boxes, narrow = _split(events, lane.x_of)
    _draw_columns(canvas, lane, narrow)
    strength = strength_of_stages(events)
    # Waiting lies behind what happens meanwhile; the inner one of nested events lies on top.
    ordered = sorted(boxes, key=lambda e: (e.kind != "wait", e.start, -e.end))
    without_letters, others = replace(lane, letters=0), [e for e in ordered if e.kind != "wait"]
    for number, event in enumerate(ordered):
        if event.kind == "wait":
            _draw_box(canvas, without_letters, event, tip(event))
            _draw_wait_label(canvas, lane, event, others)
            continue
        middle, later = (event.start + event.end) / 2, ordered[number + 1 : number + 9]
        covered = any(other.start <= middle < other.end for other in later)
        strong = strength.get(event.info.get("stage"), 1.0)
        _draw_box(canvas, without_letters if covered else lane, event, tip(event), strong)
    by_pair: dict[str, list[Event]] = defaultdict(list)
    for event in ordered:
        if "pair" in event.info:
            by_pair[event.info["pair"]].append(event)
    for pair in by_pair.values():
        _draw_frame(canvas, lane, min(e.start for e in pair), max(e.end for e in pair))


def _draw_frame(canvas: Canvas, lane: Lane, start: float, end: float) -> None:
    """Draw a frame around the two boxes of a pair (F&B), which are one action."""
    left, right = lane.x_of(start) + 0.6, lane.x_of(end) - 1.4
    top, bottom = lane.y + 0.6, lane.y + lane.height - 0.6
    around = [(left, top), (right, top), (right, bottom), (left, bottom), (left, top)]
    canvas.line(around, canvas.theme.text, 1.4)


def strength_of_stages(events: list[Event]) -> dict[int, float]:
    """Return how strong the color of each stage of a rank is: the later of its stages are paler."""
    stages = sorted({e.info["stage"] for e in events if e.kind in "FBIW" and "stage" in e.info})
    last = max(len(stages) - 1, 1)
    return {stage: 1 - 0.55 * number / last for number, stage in enumerate(stages)}


def _split(events: list[Event], x_of) -> tuple[list[Event], list[list[Event]]]:
    """Return the events to draw as boxes, and the runs of narrow neighbors to sum up."""
    boxes: list[Event] = []
    runs: list[list[Event]] = []
    run: list[Event] = []
    run_end = 0.0
    for e in events:
        left, right = x_of(e.start), x_of(e.end)
        if right - left >= NARROW:
            boxes.append(e)
            continue
        if run and left - run_end > 2:
            _close(run, boxes, runs)
            run = []
        run.append(e)
        run_end = max(run_end, right) if len(run) > 1 else right
    if run:
        _close(run, boxes, runs)
    return boxes, runs


def _close(run: list[Event], boxes: list[Event], runs: list[list[Event]]) -> None:
    """Keep one or two narrow events between wide ones visible, as thin boxes."""
    if len(run) <= 2:
        boxes.extend(run)
    else:
        runs.append(run)


def _draw_box(canvas: Canvas, lane: Lane, event: Event, tip: str, strength: float = 1.0) -> None:
    """Draw one event. strength: of its color, 0 to 1."""
    color = canvas.theme.faded(look(event.kind).color, strength)
    x = lane.x_of(event.start)
    width = max(lane.x_of(event.end) - x, 1.0)
    shown = width - 0.8 if width > 4 else width  # a gap, so that neighbors stay apart
    if has_finished(event):
        middle = lane.y + lane.height / 2
        canvas.rect(x, lane.y, shown, lane.height, canvas.theme.band, tip)
        canvas.line([(x, middle), (x + shown, middle)], canvas.theme.wait, FLAT)
    elif event.kind == "wait":
        canvas.rect(x, lane.y, shown, lane.height, canvas.theme.band, tip, canvas.theme.wait)
    else:
        canvas.rect(x, lane.y, shown, lane.height, color, tip)
    if lane.letters:
        ink = ink_on(color)
        if lines := _two_lines(event, lane, shown):
            for number, line in enumerate(lines):
                y = lane.y + lane.height * (0.28 + 0.44 * number)
                canvas.text(x + shown / 2, y, line, 10, ink, "middle")
            return
        for size in (lane.letters, 10.0):
            text = first_that_fits(event_labels(event), size, shown - 3)
            if text:
                bold = size > 10 and width_of(text, size, bold=True) <= shown - 2
                middle = x + shown / 2, lane.y + lane.height / 2
                canvas.text(*middle, text, size, ink, "middle", bold)
                return


def _two_lines(event: Event, lane: Lane, room: float) -> list[str]:
    """Return "F0" and "L2" if they fit only one below the other, else nothing."""
    label = event_labels(event)[0]
    if "layer" not in event.info or lane.height < 24 or width_of(label, lane.letters) <= room - 3:
        return []
    lines = label.rsplit(" ", 1)
    return lines if max(width_of(line, 10) for line in lines) <= room else []


def _draw_wait_label(canvas: Canvas, lane: Lane, wait: Event, others: list[Event]) -> None:
    """Draw it on a plain background, because letters on hatching are hard to read.

    others: what hides parts of the wait; the label goes into the widest part that's left.
    """
    start, end = wait.start, wait.end
    if not lane.letters or lane.x_of(end) - lane.x_of(start) < 60:
        return
    over = [(e.start, e.end) for e in others if e.start < end and e.end > start]
    gaps, at = [], start
    for left, right in [*over, (end, end)]:
        gaps.append((left - at, at, left))
        at = max(at, right)
    _, start, end = max(gaps)
    x, width = lane.x_of(start), lane.x_of(end) - lane.x_of(start)
    if text := first_that_fits(event_labels(wait), lane.letters, width - 34):
        room = width_of(text, lane.letters) + 8
        canvas.rect(x + (width - room) / 2, lane.y, room, lane.height, canvas.theme.band)
        middle = x + width / 2, lane.y + lane.height / 2
        canvas.text(*middle, text, lane.letters, anchor="middle")


def event_labels(event: Event) -> list[str]:
    """Return the labels for an event's box, the best first; the first that fits is drawn.

    An event that knows its layer says so: "F0 L2" is forward of micro-batch 0 through layer 2.
    """
    plain = _plain_labels(event)
    layer = event.info.get("layer")
    return plain if layer is None else [f"{plain[0]} L{layer}", *plain]


def _plain_labels(event: Event) -> list[str]:
    letter = look(event.kind).letter
    if event.kind == "wait":
        cause, until = event.info.get("cause"), event.info.get("until")
        if cause == "finished":
            return ["finished"]
        if cause == "memory":
            return ["waits for memory", "waits"]
        return [f"waits for rank {until}", "waits"] if until is not None else ["waits"]
    if "micro_batch" in event.info and event.kind in ("F", "B", "I", "W"):
        return [f"{letter}{event.info['micro_batch']}", letter]
    if event.kind in COLLECTIVES:
        return [event.kind]
    if event.kind == "update":
        return ["update", letter]
    if event.kind in ("F", "B", "I", "W", "input", "send", "recv"):
        return [letter]
    return [event.name, event.kind] if event.name else [event.kind]


def _draw_columns(canvas: Canvas, lane: Lane, runs: list[list[Event]]) -> None:
    """Draw each run as stacked columns, one or two pixels wide, with a height for each color."""
    step = 1 if lane.height >= 10 else 2
    for run in runs:
        shares = _shares(run, lane.x_of, step)
        floor: dict[int, float] = defaultdict(float)
        for color in sorted(shares, key=ORDER.index):
            fill = color or canvas.theme.wait
            for column, covered in sorted(shares[color].items()):
                share = min(covered / step, 1 - floor[column])
                if share * lane.height >= 0.3:
                    y = lane.y + lane.height * (1 - floor[column] - share)
                    canvas.rect(column * step, y, step, share * lane.height, fill)
                    floor[column] += share


def _shares(run: list[Event], x_of, step: int) -> dict[str, dict[int, float]]:
    """Return {color: {column: pixels of it that are covered}}; the color of waiting is "".

    What a rank that has finished doesn't do stays empty.
    """
    shares: dict[str, dict[int, float]] = defaultdict(lambda: defaultdict(float))
    for event in run:
        if has_finished(event):
            continue
        color = "" if event.kind == "wait" else look(event.kind).color
        left, right = x_of(event.start), x_of(event.end)
        for column in range(int(left / step), int(right / step) + 1):
            covered = min(right, (column + 1) * step) - max(left, column * step)
            if covered > 0:
                shares[color][column] += covered
    return shares


def draw_memory(
    canvas: Canvas, counts: list[Counter], highest: float, duration: float, y: float, axis: TimeAxis
) -> float:
    """Draw a rank's memory over time as a strip, and return the y below it.

    counts: bytes, or elements if the counter's name says so. highest: the most on any rank, for
    one scale. duration: until the trace ends.
    """
    height, theme = 22.0, canvas.theme
    points = [(axis.left, y + height)]
    for c in counts:
        x = min(max(axis.x_of(c.time), axis.left), axis.right)
        points += [(x, points[-1][1]), (x, y + height * (1 - max(c.value, 0) / highest))]
    end = axis.x_of(duration)
    points += [(end, points[-1][1]), (end, y + height)]
    canvas.rect(axis.left, y, axis.right - axis.left, height, theme.band)
    canvas.polygon(points, theme.faded(theme.muted, 0.4))
    canvas.text(axis.left - 10, y + height / 2, "memory", 10, theme.muted, "end")
    if counts:
        most = max(c.value for c in counts)
        words = bytes_text(most) if counts[0].name == "memory" else f"{most / 1e6:.3g} M"
        canvas.text(axis.right + 10, y + height / 2, f"peak {words}", 10, theme.muted)
    return y + height


def draw_legend(canvas: Canvas, traces: list[Trace], y: float, x: float) -> float:
    """Draw a swatch and a word for each kind that occurs, and return the y below."""
    events = [event for trace in traces for event in trace.events]
    entries = _entries({"finished" if has_finished(e) else e.kind for e in events})
    if any(len(strength_of_stages(row)) > 1 for t in traces for row in t.by_rank().values()):
        pale = canvas.theme.faded(LOOKS["F"].color)
        entries.append(("", pale, "pale: a later stage of the rank"))
    if any("pair" in e.info for trace in traces for e in trace.events):
        entries.append(("F|B", canvas.theme.muted, "framed: a pair, one action"))
    return canvas.legend(entries, x, y)


def _entries(kinds: set[str]) -> list[tuple[str, str, str]]:
    """Return (letter, color, word) in a fixed order; waiting has no color."""
    entries = [
        (look(kind).letter, look(kind).color, look(kind).word)
        for kind in ("F", "B", "I", "W", "update", "input")
        if kind in kinds
    ]
    gray = look("send").color
    if kinds & {"send", "recv"}:
        entries.append(("", gray, "message"))
    if kinds & COLLECTIVES:
        entries.append(("", gray, ", ".join(sorted(kinds & COLLECTIVES))))
    if "wait" in kinds:
        entries.append(("", "", "waiting"))
    if "finished" in kinds:
        entries.append(("", FLAT_LINE, "finished"))
    unknown = sorted(kinds - set(LOOKS) - COLLECTIVES)
    if unknown:
        more = f" and {len(unknown) - MAX_UNKNOWN} more" if len(unknown) > MAX_UNKNOWN else ""
        entries.append(("", UNKNOWN, ", ".join(unknown[:MAX_UNKNOWN]) + more))
    return entries
