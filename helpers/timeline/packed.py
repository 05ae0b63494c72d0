"""What the page of a timeline draws, as plain data: rows, boxes, and a sentence for each of them.

The words are made here, so the JavaScript knows nothing of training.
"""

import json
import re
from collections.abc import Mapping
from html import escape
from pathlib import Path

from helpers.draw.findings import TraceSummary, compared, found_in, in_words
from helpers.draw.rows import arrow_ends, kind_of, labels, laid_out, pairs, shades, summarized
from helpers.draw.style import LOOKS, ink_on, look, painted
from helpers.trace import Event, Trace
from helpers.words import bytes_text, capital, time_unit

HERE = Path(__file__).parent
MOST_EVENTS = 20_000
COLUMNS = ("row", "kind", "start", "end", "shade", "labels", "words")
FACTS = ("stage", "micro_batch", "layer", "peer", "tag", "bytes", "tokens", "error")


def packed(traces: Mapping[str, Trace], title: str = "") -> dict:
    """Return what the page draws of one trace, or of several on one time axis.

    Each starts at its own first event. Waits are computed from the events of all ranks.

    Raises:
        ValueError: for more events or ranks than a page can show, or no trace at all.
    """
    parts = summarized("timeline", traces, MOST_EVENTS)
    longest = max(part.duration for part in parts)
    unit = parts[0].trace.meta.get("unit", "s")
    size, unit = time_unit(longest or 1.0) if unit == "s" else (1.0, unit)
    used = {kind_of(e) for part in parts for e in part.trace.events if e.duration}
    kinds = [kind for kind in LOOKS if kind in used] + sorted(used - LOOKS.keys())
    rows, events, heads, arrows, frames = [], [], [], [], []
    for part, mine in zip(parts, laid_out(parts), strict=True):
        heads += [(row.top + 10, row.left) for row in mine if not row.lane]
        arrows += arrow_ends(part.trace, mine)
        shade_of = {rank: shades(events) for rank, events in part.trace.by_rank().items()}
        for row in (row for row in mine if row.lane):
            for e in (e for e in row.events if e.duration):
                shade = shade_of[e.rank].get(e.info.get("stage"), 1.0) if e.kind in "FBIW" else 1.0
                place = len(rows), kinds.index(kind_of(e)), e.start, e.end
                events.append((*place, shade, labels(e), sentence(e, part)))
            frames += [(len(rows), *span) for span in pairs(row)]
            names = ("rank", "top", "high", "left", "right", "steps")
            rows.append({name: getattr(row, name) for name in names})
    shown = title or (found_in(parts[0]) if len(parts) == 1 else compared(parts))
    return {
        "title": shown,
        "note": found_in(parts[0]) if title and len(parts) == 1 else "",
        "alt": in_words(shown, parts),
        "heads": heads,
        "kinds": [_kind(kind) for kind in kinds],
        "unit": [size, unit],
        "duration": longest or size,
        "high": rows[-1]["top"] + rows[-1]["high"] + 8,
        "rows": rows,
        "events": {name: [e[n] for e in events] for n, name in enumerate(COLUMNS)},
        "arrows": arrows,
        "frames": frames,
    }


def _kind(kind: str) -> dict:
    """Return the look of a kind of event; those with the same word are one entry of the legend."""
    color, letter, word = (getattr(look(kind), name) for name in ("color", "letter", "word"))
    letter = letter if kind in LOOKS and len(letter) < 3 else ""
    rest = kind if kind in ("wait", "finished") else ""
    return {"color": color, "ink": ink_on(color), "letter": letter, "word": word, "rest": rest}


def sentence(e: Event, part: TraceSummary) -> str:
    """Say what an event is, and of a wait why it waits and for whom."""
    if e.kind == "wait":
        return f"Rank {e.rank} {why(e)} ({part.time(e.duration)})."
    word = look(e.kind).word
    name = labels(e)[0] if labels(e)[0] != word else capital(word)
    told = [f"{name} on rank {e.rank}", *([word] if name != capital(word) else [])]
    for key in FACTS:
        value = e.info.get(key)
        if value not in (None, "", 0) or (value == 0 and key in FACTS[:4]):  # they count from 0
            told.append(f"{key.replace('_', '-')} {bytes_text(value) if key == 'bytes' else value}")
    return f"{', '.join([*told, part.time(e.duration)])}, from {part.time(e.start)}."


def why(wait: Event) -> str:
    """Say why a rank waits: "waits for rank 2 until B3 is done"."""
    cause, until = wait.info.get("cause"), wait.info.get("until")
    what = re.sub(r"^\d+", "", str(wait.info.get("for", "")))
    if cause == "finished":
        return "has finished: nothing is left to do here, and other ranks still work"
    if cause == "memory":
        return f"waits for memory: the next forward finds no room until {what} has freed some"
    if cause == "message":
        return f"waits for the message of rank {until}: it is on its way, and {what} needs it"
    if cause == "imbalance":
        return f"waits for rank {until}, which is slow: with equal stages {what} could start by now"
    if what:
        return f"waits for rank {until}, which has yet to compute what {what} needs"
    if until is None:
        return f"waits for {wait.name}" if wait.name else "waits"
    doing = {"recv": "which hasn't sent yet", "send": "which isn't ready to receive yet"}
    return f"waits for rank {until}, {doing.get(wait.name, f'the last to reach the {wait.name}')}"


# --- a page of its own, for the timeline and the game ---

AROUND = (
    ("card", "background"),
    ("ink", "text"),
    *((n, n) for n in ("muted", "grid", "band", "wait")),
)
THEME = """{root} {{ {colors} }}
[data-jp-theme-light="true"] {root}, .vscode-light {root} {{ color-scheme: light; }}
[data-jp-theme-light="false"] {root}, .vscode-dark {root} {{ color-scheme: dark; }}
"""


def style(path: Path, root: str) -> str:
    """Return a style sheet with the colors of the palette; `root` follows the notebook's theme."""
    pair = "--{}: light-dark(var(--palette-light-{}), var(--palette-dark-{}));"
    colors = " ".join(pair.format(name, part, part) for name, part in AROUND)
    return painted(THEME.format(root=root, colors=colors) + path.read_text(encoding="utf-8"))


def module(path: Path) -> str:
    """Return the one ES module of a widget; its default export is what anywidget asks for."""
    return (HERE / "common.js").read_text(encoding="utf-8") + path.read_text(encoding="utf-8")


def page(title: str, heading: str, esm: str, css: str, state: Mapping) -> str:
    """Return a widget as one HTML file that opens without Python, a server or a network.

    state: what its model holds.
    """
    # No "</script>" may stand inside a script, whatever an event is called.
    data = json.dumps(dict(state), ensure_ascii=False, allow_nan=False).replace("<", "\\u003c")
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{escape(title)}</title>
<style>html {{ color-scheme: light dark; }} body {{ margin: 12px auto; max-width: 1200px; }}
main > h1 {{ margin: 12px; font: 600 18px "Helvetica Neue", "Segoe UI", Arial, sans-serif; }}
{css}</style></head><body><main><h1>{heading}</h1><div id="widget"></div></main>
<script type="application/json" id="state">{data}</script>
<script type="module">{esm}
mount(document.getElementById("widget"), JSON.parse(document.getElementById("state").textContent));
</script></body></html>
"""
