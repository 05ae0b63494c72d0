"""The widget that shows traces, with sliders or without, and saves them as pages and pictures."""

import json
import os
from collections.abc import Mapping
from pathlib import Path

import anywidget
import traitlets

from helpers.draw import lanes
from helpers.draw.themed import TIMELINE, compressed, static
from helpers.files import write_whole
from helpers.simulate import Simulated
from helpers.timeline import sliders
from helpers.timeline.packed import HERE, module, packed, page, style
from helpers.trace import Trace


class Pictured:
    """A widget that brings its picture, for pages without a kernel; a built lesson has it alone."""

    def _repr_mimebundle_(self, **options) -> tuple[dict, dict]:
        picture = self.picture()._repr_mimebundle_()
        if static():
            return picture
        given = super()._repr_mimebundle_(**options)
        data, facts = given if isinstance(given, tuple) else (given, {})
        return data | picture, facts


class Timeline(Pictured, anywidget.AnyWidget):
    """What `timeline` returns: traces by their names, with mouse and keyboard."""

    _esm = module(HERE / "timeline.js")
    _css = style(HERE / "timeline.css", ".lab-timeline")
    data = traitlets.Dict().tag(sync=True)
    controls = traitlets.List().tag(sync=True)
    settings = traitlets.Dict().tag(sync=True)
    problem = traitlets.Unicode().tag(sync=True)

    def __init__(self, traces: Mapping[str, Trace], title: str = "", **more):
        self.traces, self._title = dict(traces), title
        super().__init__(data=packed(self.traces, title), **more)

    @property
    def title(self) -> str:
        """Return what the timeline shows, in one line."""
        return self.data["title"]

    def picture(self):
        """Return the static picture of the same, as `helpers.draw` makes it."""
        return lanes(self.traces, self._title)

    def _repr_mimebundle_(self, **options) -> tuple[dict, dict]:
        data, facts = super()._repr_mimebundle_(**options)
        kept = {TIMELINE: {"json": compressed(json.dumps(self.data))}} if static() else {}
        return data | kept, facts

    def html(self) -> str:
        """Return the text of a page that needs no other file."""
        state = {"data": self.data, "controls": [], "settings": {}, "problem": ""}
        return page(self.title, "Timeline", self._esm, self._css, state)

    def save(self, path: str | os.PathLike) -> Path:
        """Write a page that needs no other file, .html, or a picture, .svg or .png."""
        name = str(path).lower()
        if name.endswith(".html"):
            return write_whole(path, self.html())
        if name.endswith((".svg", ".png")):
            return self.picture().save(path)
        raise ValueError(
            f"cannot save a timeline as {path}: the name must end in .html, .svg or .png; a trace "
            "saves itself as .json, by its own .save()"
        )


class Explorer(Timeline):
    """What `explore` returns: `.simulated` is on the screen now, `.settings` what sliders say."""

    def __init__(self, settings: dict):
        self.simulated = sliders.simulated(settings)
        full = sliders.START | settings
        more = {"controls": sliders.controls(full), "settings": full}
        super().__init__({"": self.simulated.trace}, **more)
        self.observe(self._moved, "settings")

    def _moved(self, change) -> None:
        """Simulate what the sliders say; if it can't run, say why and leave the picture."""
        try:
            self.simulated = sliders.simulated(change.new)
        except (ValueError, TypeError) as error:
            self.problem = str(error)
            return
        self.traces, self.problem = {"": self.simulated.trace}, ""
        self.data = packed(self.traces)


def timeline(traces: object, title: str = "") -> Timeline:
    """Show a trace, or several on one axis: ``timeline({"predicted": a, "measured": b})``.

    Args:
        traces: a `Trace`, a simulated step or the path of a trace file; or {name: one of these}.
        title: what was found; computed by default.

    Raises:
        TypeError: if something isn't a trace.
        ValueError, OSError: if a file isn't a trace or can't be read, or for more events than a
            page can draw.
    """
    given = traces if isinstance(traces, Mapping) else {"": traces}
    return Timeline({str(name): _trace(each) for name, each in given.items()}, title)


def explore(**settings) -> Explorer:
    """Show sliders over a simulated step: ``explore(schedule="ZB-V", ranks=8, latency=2)``.

    settings: where to start, the names of `sliders.START` in the sliders' units (ms, MB, GB/s).

    Raises:
        TypeError: if there is no such setting.
        ValueError: if the schedule can't run.
    """
    return Explorer(settings)


def _trace(thing: object) -> Trace:
    if isinstance(thing, Trace):
        return thing
    if isinstance(thing, Simulated):
        return thing.trace
    if isinstance(thing, str | os.PathLike):
        return Trace.load(thing)
    raise TypeError(
        f"timeline() needs a trace and got {type(thing).__name__}: give it a Trace, what "
        "simulate() returns, or the path of a Chrome trace file"
    )
