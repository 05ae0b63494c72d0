"""The widget that shows traces, and saves them as pages and pictures."""

import os
import tempfile
from pathlib import Path

import anywidget
import traitlets

from helpers.draw import compare as compare_static
from helpers.draw import timeline as static
from helpers.draw.findings import TraceSummary, comparable, compared, found_in, in_words
from helpers.files import write_whole
from helpers.simulate import Simulated
from helpers.timeline.page import asset, look_table, module_text, page, recorded
from helpers.timeline.table import Panel, pack, table_of
from helpers.trace import Trace

ENDINGS = ".html, .svg, .png, .json or .json.gz"


class Timeline(anywidget.AnyWidget):
    """A timeline with mouse and keyboard; "?" lists the keys.

    traces: {name: trace}, drawn under each other on one time axis. title: as for `timeline`.
    """

    _esm = module_text()
    _css = asset("timeline.css")
    look = traitlets.Dict().tag(sync=True)
    data = traitlets.Dict().tag(sync=True)  # {"head": {...}, "body": bytes}, see `pack`

    def __init__(self, traces: dict[str, Trace], title: str | None = None, **more):
        self._traces = traces
        super().__init__(look=look_table(), data=self._packed(title), **more)
        self.on_msg(self._heard)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.title}>"

    @property
    def traces(self) -> dict[str, Trace]:
        """Return what is shown: {name: trace}."""
        return self._traces

    @property
    def title(self) -> str:
        """Return what the timeline shows, in one line."""
        return self.data["head"]["title"]

    @property
    def alt(self) -> str:
        """Return what it says in words, for a screen reader."""
        return self.data["head"]["alt"]

    def _packed(self, title: str | None) -> dict:
        measured = comparable([TraceSummary(name, trace) for name, trace in self.traces.items()])
        if title is None:
            title = found_in(measured[0]) if len(measured) == 1 else compared(measured)
        parts = [Panel(each.name, found_in(each), table_of(each.trace)) for each in measured]
        head, body = pack(parts, title, in_words(title, measured))
        return {"head": head, "body": body}

    def picture(self):
        """Return the static picture of the same, as `helpers.draw` makes it."""
        if len(self.traces) > 1:
            return compare_static(self.traces, self.title)
        return static(next(iter(self.traces.values())), self.title)

    def recorded(self) -> dict:
        """Return its data as JSON can hold them; `assets/standalone.js` shows them."""
        return recorded(self.data["head"], self.data["body"])

    def html(self, above: str = "", below: str = "") -> str:
        """Return the text of a page that needs no other file; above, below: more HTML for it."""
        return page(self.data["head"], self.data["body"], above, below)

    def save(self, path: str | os.PathLike) -> Path:
        """Write a file, whole or not at all, and return its path.

        Args:
            path: ends in .html (interactive, in one file), .svg, .png, .json (a Chrome trace) or
                .json.gz.

        Raises:
            ValueError: if the name has another ending, or if a .json would hold two traces.
        """
        name = str(path).lower()
        if name.endswith((".svg", ".png")):
            return self.picture().save(path)
        if name.endswith((".json", ".json.gz")):
            if len(self.traces) > 1:
                raise ValueError(
                    f"cannot save {len(self.traces)} traces as {path}: a Chrome trace holds one "
                    "run, so save each trace by its own .save()"
                )
            return next(iter(self.traces.values())).save(path)
        if name.endswith(".html"):
            return write_whole(path, self.html())
        raise ValueError(f"cannot save a timeline as {path}: the name must end in {ENDINGS}")

    def _heard(self, _, content: dict, buffers: list) -> None:
        """Send the page the file that one of its buttons asks for."""
        kind = content.get("save")
        try:
            self.send({"saved": kind}, buffers=[self._file(kind)])
        except Exception as error:  # the page shows it, as no cell is running
            self.send({"failed": kind, "why": f"{type(error).__name__}: {error}"})

    def _file(self, kind: str) -> bytes:
        with tempfile.TemporaryDirectory() as folder:
            return self.save(Path(folder) / f"timeline.{kind}").read_bytes()


def timeline(trace: Trace, title: str | None = None) -> Timeline:
    """Show a trace: a real run's, a simulation's, or another program's.

    Waits are computed from the events of all ranks (`with_waits`).

    Args:
        trace: a `Trace`, a simulated step, or the path of a Chrome trace.
        title: what was found; computed by default.

    Raises:
        TypeError: if it isn't a trace.
        ValueError, OSError: if the file isn't a trace, or can't be read.
    """
    return Timeline({"": as_trace(trace, "timeline()")}, title)


def compare(predicted: Trace, measured: Trace, title: str | None = None) -> Timeline:
    """Show two traces on one time axis, so that equal lengths are equal times.

    Each starts at its own first event. Raises as `timeline` does.
    """
    return Timeline(
        {
            "predicted": as_trace(predicted, "compare()"),
            "measured": as_trace(measured, "compare()"),
        },
        title,
    )


def as_trace(thing: object, where: str) -> Trace:
    """Return the trace of a simulated step, a path or a trace itself; TypeError if it has none."""
    if isinstance(thing, Trace):
        return thing
    if isinstance(thing, Simulated):
        return thing.trace
    if isinstance(thing, str | os.PathLike):
        return Trace.load(thing)
    raise TypeError(
        f"{where} needs a trace and got {_a(type(thing).__name__)}: give it a Trace, what "
        "simulate() returns, or the path of a Chrome trace file"
    )


def _a(word: str) -> str:
    return f"{'an' if word[0] in 'aeiouAEIOU' else 'a'} {word}"
