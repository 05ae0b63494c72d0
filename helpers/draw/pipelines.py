"""What a pipeline keeps, how its steps fit together, and where its stages lie.

kept({"GPipe": trace, "1F1B": trace})       the micro-batches that each rank keeps over time
steps({"ZB-H1": trace, "ZB-H2": trace}, 8)  two consecutive steps of 8 micro-batches
places({"a loop": [0, 1, 0, 1], ...})       which rank holds which stage
"""

from collections.abc import Mapping, Sequence

from helpers.draw.picture import PAD, Canvas, Picture
from helpers.draw.style import RANKS, cause, ink_on, look
from helpers.draw.text import width_of
from helpers.trace import Event, Trace
from helpers.words import listed

LABEL, ROW, BAR = 48.0, 17.0, 4.0
FADED = 0.5  # how strong the color of a later step is
Kept = tuple[float, float, int]  # from the start of F, until, micro-batch


def kept(traces: Mapping[str, Trace], title: str = "") -> Picture:
    """Draw pipeline steps side by side, and below each rank a bar for each micro-batch it keeps.

    A bar lasts from the start of F to the end of B, or of W, which frees the activations, so the
    height of a stack is the memory of the rank. All steps have the same scale.

    Args:
        traces: by name, with F, B or F, I, W that name their micro-batch.
        title: what was found.
    """
    canvas = Canvas()
    width = (canvas.width - PAD * (len(traces) + 1)) / len(traces)
    longest = max(trace.duration for trace in traces.values())
    slots = {name: _slots(trace) for name, trace in traces.items()}
    top = _draw_title(canvas, title)
    bottom, words = top, [title] if title else []
    for number, (name, trace) in enumerate(traces.items()):
        left = PAD + number * (width + PAD)
        scale = (width - LABEL - 62) / longest
        canvas.text(left, top + 8, name, 13, bold=True)
        y = top + 26
        for rank, events in trace.by_rank().items():
            y = _draw_kept(canvas, rank, events, slots[name][rank], (left, y, scale, longest))
        most = [len(rows) for rows in slots[name].values()]
        words.append(f"{name}: ranks 0, 1, ... keep at most {listed(map(str, most))} micro-batches")
        bottom = max(bottom, y)
    y = _draw_key(canvas, bottom + 4, "one micro-batch that a rank keeps: F to backward")
    canvas.height = y + PAD
    return Picture(canvas, title, ". ".join(words) + ".")


def _slots(trace: Trace) -> dict[int, list[list[Kept]]]:
    """Return for each rank rows of micro-batches that it keeps one after the other."""
    rows: dict[int, list[list[Kept]]] = {}
    for rank, events in trace.by_rank().items():
        begun = {_key(e): e.start for e in events if e.kind == "F"}
        spans = [(begun[_key(e)], e.end, _key(e)[1]) for e in events if e.kind in "BW"]
        rows[rank] = []
        for span in sorted(spans):
            free = next((row for row in rows[rank] if row[-1][1] <= span[0] + 1e-9), None)
            if free is None:
                rows[rank].append(free := [])
            free.append(span)
    return rows


def _key(event: Event) -> tuple[int, int]:
    return event.info.get("stage", event.rank), event.info["micro_batch"]


def _draw_kept(canvas, rank: int, events: list[Event], rows, place) -> float:
    left, y, scale, longest = place
    start = left + LABEL
    canvas.text(left, y + ROW / 2, f"rank {rank}", 11, canvas.theme.muted)
    canvas.rect(start, y, longest * scale, ROW, canvas.theme.band)
    for event in events:
        if event.kind in "FBIW":
            _draw_box(canvas, event, (start, y, scale))
    y += ROW + 3
    for number, row in enumerate(rows):
        for begin, end, _ in row:
            x, width = start + begin * scale, (end - begin) * scale - 1
            canvas.rect(x, y + number * (BAR + 1), width, BAR, cause("activations"))
    peak = f"keeps {len(rows)}"
    canvas.text(start + longest * scale + 6, y + len(rows) * (BAR + 1) / 2, peak, 11)
    return y + len(rows) * (BAR + 1) + 9


def _draw_box(canvas, event: Event, place, faded: bool = False) -> None:
    start, y, scale = place
    color = look(event.kind).color
    fill = canvas.theme.faded(color, FADED) if faded else color
    width = event.duration * scale
    canvas.rect(start + event.start * scale, y, width - 0.8, ROW, fill)
    if width >= width_of(event.kind, 10) + 2:
        middle = start + (event.start + event.end) / 2 * scale
        canvas.text(middle, y + ROW / 2, event.kind, 10, ink_on(fill), "middle")


def steps(traces: Mapping[str, Trace], micro_batches: int, title: str = "") -> Picture:
    """Draw several consecutive steps of each schedule, one below the other on one scale.

    Every other step is pale, so its outline shows how it fits against the one before.

    Args:
        traces: by name, of a schedule whose micro-batches are numbered on from step to step.
        micro_batches: of one step.
        title: what was found.
    """
    canvas = Canvas()
    longest = max(trace.duration for trace in traces.values())
    scale = (canvas.width - 2 * PAD - LABEL - 10) / longest
    start, y, words = PAD + LABEL, _draw_title(canvas, title), [title] if title else []
    for name, trace in traces.items():
        spoken = f"{name}: {trace.duration:g} s"
        canvas.text(PAD, y + 8, spoken, 13, bold=True)
        y += 22
        for rank, events in trace.by_rank().items():
            canvas.text(PAD, y + ROW / 2, f"rank {rank}", 11, canvas.theme.muted)
            canvas.rect(start, y, longest * scale, ROW, canvas.theme.band)
            for event in events:
                if event.kind in "FBIW":
                    later = event.info["micro_batch"] // micro_batches % 2 == 1
                    _draw_box(canvas, event, (start, y, scale), faded=later)
            y += ROW + 2
        y += 12
        words.append(spoken)
    key = [(k, look(k).color, look(k).word.replace("backward: ", "")) for k in "FIW"]
    key.append(("", canvas.theme.faded(look("F").color, FADED), "pale: the next step"))
    canvas.height = canvas.legend(key, start, y) + PAD
    return Picture(canvas, title, ". ".join(words) + ".")


def places(layouts: Mapping[str, Sequence[int]], title: str = "") -> Picture:
    """Draw which rank holds which stage, and the way of a micro-batch through them.

    Args:
        layouts: by name, the rank of each stage.
        title: what was found.
    """
    canvas = Canvas()
    top, words = _draw_title(canvas, title), [title] if title else []
    width = (canvas.width - PAD) / len(layouts)
    for number, (name, ranks) in enumerate(layouts.items()):
        left, size = PAD + number * width, max(ranks) + 1
        canvas.text(left, top + 8, name, 13, bold=True)
        step = (width - 40) / size
        middles: list[tuple[float, float]] = []
        chunk = [ranks[:stage].count(rank) for stage, rank in enumerate(ranks)]
        for rank in range(size):
            x = left + rank * step
            canvas.rect(x, top + 26, step - 10, 26 + 46 * (max(chunk) + 1), canvas.theme.band)
            middle = x + (step - 10) / 2
            canvas.text(middle, top + 38, f"rank {rank}", 11, canvas.theme.muted, "middle")
        for stage, rank in enumerate(ranks):
            middles.append((left + rank * step + (step - 10) / 2, top + 72 + 46 * chunk[stage]))
        for start, end in zip(middles, middles[1:], strict=False):
            _draw_way(canvas, start, end, step)
        for (x, y), which in zip(middles, chunk, strict=True):
            fill = RANKS[0] if which == 0 else canvas.theme.faded(RANKS[0], FADED)
            canvas.box(x - 15, y - 13, 30, 26, fill, str(middles.index((x, y))), 13, bold=True)
        held = [[s for s, r in enumerate(ranks) if r == rank] for rank in range(size)]
        spoken = "; ".join(
            f"rank {rank} stage{'s' * (len(s) > 1)} {listed(map(str, s))}"
            for rank, s in enumerate(held)
        )
        words.append(f"{name}: {spoken}")
        canvas.height = max(canvas.height, top + 26 + 26 + 46 * (max(chunk) + 1) + PAD)
    return Picture(canvas, title, ". ".join(words) + ".")


def _draw_way(canvas, start: tuple[float, float], end: tuple[float, float], step: float) -> None:
    """Draw an arrow between two boxes: straight to a neighbor, else round the boxes between."""
    (x0, y0), (x1, y1), color = start, end, canvas.theme.text
    if abs(x1 - x0) > 1.5 * step:
        turn = (y0 + y1) / 2
        canvas.line([(x0, y0 + 14), (x0, turn), (x1, turn)], color, 1.5)
        canvas.arrow((x1, turn), (x1, y1 - 15), color, 1.5, head=7)
    elif x0 == x1:
        canvas.arrow((x0, y0 + 14), (x1, y1 - 15), color, 1.5, head=7)
    else:
        side = 16 if x1 > x0 else -16
        canvas.arrow((x0 + side, y0), (x1 - side, y1), color, 1.5, head=7)


def _draw_title(canvas: Canvas, title: str) -> float:
    return canvas.heading(title) + (10 if title else 0)


def _draw_key(canvas: Canvas, y: float, word: str) -> float:
    canvas.rect(PAD, y + 5, 22, BAR, cause("activations"))
    canvas.text(PAD + 30, y + 7, word, 11, canvas.theme.muted)
    return y + 14
