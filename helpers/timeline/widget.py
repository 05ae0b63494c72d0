"""The widget for traces, and the sentences for what is no trace."""

import os
import tempfile
from pathlib import Path

import anywidget
import traitlets

from helpers.draw import compare as compare_static
from helpers.draw import timeline as static
from helpers.draw.words import Part as Measured
from helpers.draw.words import comparable, compared, found_in, in_words
from helpers.files import write_whole
from helpers.simulate import Simulated
from helpers.timeline.look import look_table
from helpers.timeline.module import asset, module_text
from helpers.timeline.pack import Part, pack
from helpers.timeline.page import page
from helpers.timeline.table import table_of
from helpers.trace import Trace

ENDINGS = ".html, .svg, .png, .json or .json.gz"


class Timeline(anywidget.AnyWidget):
    """A timeline that answers to mouse and keys; "?" shows which.

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
        """What is shown: {name: trace}."""
        return self._traces

    @property
    def title(self) -> str:
        """What the timeline shows, in one line."""
        return self.data["head"]["title"]

    @property
    def alt(self) -> str:
        """What it says, for readers who do not see it."""
        return self.data["head"]["alt"]

    def _packed(self, title: str | None) -> dict:
        measured = comparable([Measured(name, trace) for name, trace in self.traces.items()])
        if title is None:
            title = found_in(measured[0]) if len(measured) == 1 else compared(measured)
        parts = [Part(each.name, found_in(each), table_of(each.trace)) for each in measured]
        head, body = pack(parts, title, in_words(title, measured))
        return {"head": head, "body": body}

    def picture(self):
        """The static picture of the same, as `helpers.draw` makes it."""
        if len(self.traces) > 1:
            return compare_static(self.traces, self.title)
        return static(next(iter(self.traces.values())), self.title)

    def html(self) -> str:
        """The text of a page that holds everything in itself."""
        return page(self.data["head"], self.data["body"])

    def save(self, path: str | os.PathLike) -> Path:
        """Write .html (interactive, in one file), .svg, .png, or .json (Chrome trace, or .json.gz).

        Whole or not at all. ValueError for another ending, or for two traces as one .json.
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
        """A button of the page wants a file: make it in memory and send it there."""
        kind = content.get("save")
        try:
            self.send({"saved": kind}, buffers=[self._file(kind)])
        except Exception as error:  # the page shows it: no cell would
            self.send({"failed": kind, "why": f"{type(error).__name__}: {error}"})

    def _file(self, kind: str) -> bytes:
        with tempfile.TemporaryDirectory() as folder:
            return self.save(Path(folder) / f"timeline.{kind}").read_bytes()


def timeline(trace: Trace, title: str | None = None) -> Timeline:
    """The widget for a trace: a real run's, a simulation's, or another program's.

    trace: a `Trace`, a simulated step, or the path of a Chrome trace. title: what was found; left
    out, it is computed. Waits are worked out from the events of all ranks (`with_waits`).

    Raises TypeError for what is no trace, ValueError or OSError for a file that is none.
    """
    return Timeline({"": as_trace(trace, "timeline()")}, title)


def compare(predicted: Trace, measured: Trace, title: str | None = None) -> Timeline:
    """Two traces under each other on one time axis: the same length is the same time in both.

    Each starts at its own first event. Raises as `timeline`.
    """
    return Timeline(
        {
            "predicted": as_trace(predicted, "compare()"),
            "measured": as_trace(measured, "compare()"),
        },
        title,
    )


def as_trace(thing: object, where: str) -> Trace:
    """The trace that is meant; TypeError, one sentence, where none is."""
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
