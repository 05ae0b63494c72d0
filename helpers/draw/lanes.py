"""One lane of a timeline: boxes where there is room, and a fair summary where there is not.

A hundred thousand events on 700 pixels cannot be boxes. What is narrower than about a pixel is
summed up column by column: each colour fills as much of the lane's height as its kind took of
the time. So a zoomed-out row still shows how busy a rank is, and with what.
"""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass

from helpers.draw.canvas import Canvas
from helpers.draw.style import LOOKS, YELLOW, ink_on, look
from helpers.draw.text import bytes_text, first_that_fits, width_of
from helpers.trace import COLLECTIVES, Counter, Event

NARROW = 1.6  # pixels: anything below is summed up if its neighbours are as narrow
# Which colour lies below which, the same in every row; "" is waiting.
ORDER = [*dict.fromkeys(each.colour for each in LOOKS.values()), YELLOW, ""]
TIPS = 1500  # boxes in one picture that may carry a text for the pointer


@dataclass(slots=True)
class Frame:
    """Where the time axis lies, in pixels. duration: seconds from left to right."""

    left: float
    right: float
    duration: float

    def x_of(self, seconds: float) -> float:
        return self.left + (self.right - self.left) * seconds / self.duration


@dataclass(slots=True)
class Lane:
    """Where a lane lies, in pixels. x_of: seconds on the trace's clock to x."""

    y: float
    height: float
    x_of: Callable[[float], float]
    letters: float = 12.0  # font size, 10 at least; 0: no room for letters


def draw_lane(canvas: Canvas, lane: Lane, events: list[Event], tip: Callable[[Event], str]) -> None:
    """Draw the events (in the order they start) of one lane."""
    boxes, narrow = _split(events, lane.x_of)
    _draw_columns(canvas, lane, narrow)
    # Waiting lies behind what happens meanwhile; of nested events the inner one lies on top.
    for event in sorted(boxes, key=lambda e: (e.kind != "wait", e.start, -e.end)):
        _draw_box(canvas, lane, event, tip(event))


def _split(events: list[Event], x_of) -> tuple[list[Event], list[list[Event]]]:
    """Events to be drawn as boxes, and runs of narrow neighbours to be summed up."""
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
    """One or two narrow events between wide ones stay visible as thin boxes."""
    if len(run) <= 2:
        boxes.extend(run)
    else:
        runs.append(run)


def _draw_box(canvas: Canvas, lane: Lane, event: Event, tip: str) -> None:
    x = lane.x_of(event.start)
    width = max(lane.x_of(event.end) - x, 1.0)
    shown = width - 0.8 if width > 4 else width  # a gap, so that neighbours stay apart
    if event.kind == "wait":
        canvas.rect(x, lane.y, shown, lane.height, canvas.theme.band, tip, canvas.theme.wait)
    else:
        canvas.rect(x, lane.y, shown, lane.height, look(event.kind).colour, tip)
    if event.kind == "wait":
        _draw_wait_label(canvas, lane, event, x, shown)
    elif lane.letters:
        colour = ink_on(look(event.kind).colour)
        for size in (lane.letters, 10.0):
            text = first_that_fits(labels(event), size, shown - 3)
            if text:
                bold = size > 10 and width_of(text, size, bold=True) <= shown - 2
                middle = x + shown / 2, lane.y + lane.height / 2
                canvas.text(*middle, text, size, colour, "middle", bold)
                return


def _draw_wait_label(canvas: Canvas, lane: Lane, event: Event, x: float, width: float) -> None:
    """On a ground of its own, for letters on hatching are hard to read; hatching stays around."""
    text = first_that_fits(labels(event), lane.letters, width - 34) if lane.letters else ""
    if text:
        room = width_of(text, lane.letters) + 8
        canvas.rect(x + (width - room) / 2, lane.y, room, lane.height, canvas.theme.band)
        middle = x + width / 2, lane.y + lane.height / 2
        canvas.text(*middle, text, lane.letters, anchor="middle")


def labels(event: Event) -> list[str]:
    """What may stand in an event's box, the best first; the first that fits is taken."""
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
    """Each run as stacked columns, one or two pixels wide, with a height for each colour."""
    step = 1 if lane.height >= 10 else 2
    for run in runs:
        shares = _shares(run, lane.x_of, step)
        floor: dict[int, float] = defaultdict(float)
        for colour in sorted(shares, key=ORDER.index):
            fill = colour or canvas.theme.wait
            for column, covered in sorted(shares[colour].items()):
                share = min(covered / step, 1 - floor[column])
                if share * lane.height >= 0.3:
                    y = lane.y + lane.height * (1 - floor[column] - share)
                    canvas.rect(column * step, y, step, share * lane.height, fill)
                    floor[column] += share


def _shares(run: list[Event], x_of, step: int) -> dict[str, dict[int, float]]:
    """{colour: {column: pixels of it that are covered}}; the colour of waiting is ""."""
    shares: dict[str, dict[int, float]] = defaultdict(lambda: defaultdict(float))
    for event in run:
        colour = "" if event.kind == "wait" else look(event.kind).colour
        left, right = x_of(event.start), x_of(event.end)
        for column in range(int(left / step), int(right / step) + 1):
            covered = min(right, (column + 1) * step) - max(left, column * step)
            if covered > 0:
                shares[colour][column] += covered
    return shares


def draw_memory(
    canvas: Canvas, counts: list[Counter], highest: float, duration: float, y: float, frame: Frame
) -> float:
    """A strip with a rank's memory over time; give the y below it.

    highest: bytes, of all ranks, for one scale. duration: seconds until the trace ends.
    """
    height, theme = 22.0, canvas.theme
    points = [(frame.left, y + height)]
    for c in counts:
        x = min(max(frame.x_of(c.time), frame.left), frame.right)
        points += [(x, points[-1][1]), (x, y + height * (1 - max(c.value, 0) / highest))]
    end = frame.x_of(duration)
    points += [(end, points[-1][1]), (end, y + height)]
    canvas.rect(frame.left, y, frame.right - frame.left, height, theme.band)
    canvas.polygon(points, theme.faded(theme.muted, 0.4))
    canvas.text(frame.left - 10, y + height / 2, "memory", 10, theme.muted, "end")
    if counts:
        most = f"peak {bytes_text(max(c.value for c in counts))}"
        canvas.text(frame.right + 10, y + height / 2, most, 10, theme.muted)
    return y + height
