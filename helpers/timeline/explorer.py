"""A schedule under sliders: the page asks, Python simulates, the page draws."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

import traitlets

from helpers.draw.text import listed, percent, time_text
from helpers.simulate import Simulated
from helpers.timeline.pack import Part, pack
from helpers.timeline.settings import Settings, checked, controls
from helpers.timeline.simulated import simulated_table
from helpers.timeline.widget import Timeline
from helpers.trace import Trace


class Explorer(Timeline):
    """The widget that `explore` makes. settings: what the sliders say now."""

    controls = traitlets.List().tag(sync=True)

    def __init__(self, settings: Settings):
        self.settings = settings
        self.simulated = settings.simulated()
        super().__init__({}, controls=controls(settings))

    @property
    def trace(self) -> Trace:
        """The simulated step as a trace: save it, lay it over a measured one."""
        return self.simulated.trace

    @property
    def traces(self) -> dict[str, Trace]:
        """The one trace, under no name."""
        return {"": self.trace}

    def _packed(self, title: str | None) -> dict:
        return answer(self.simulated)

    def ask(self, number: int, settings: dict) -> dict:
        """Take other settings and send the page what comes of them, under the question's number.

        What cannot run is answered with its sentence; the picture stays. Gives `.data`, which has
        the answer already: as a trait it would go to the page a second time.
        """
        said, buffers = {"id": number, "problem": ""}, []
        try:
            with no_collection():
                chosen = checked(settings)
                simulated = chosen.simulated()
                said |= answer(simulated)
        except (ValueError, TypeError) as error:
            said["problem"] = str(error)
        else:
            self.settings, self.simulated = chosen, simulated
            buffers = [said["body"]]
        self.data.update(said)
        self.send({"answer": {key: said[key] for key in said if key != "body"}}, buffers)
        return self.data

    def _heard(self, widget, content: dict, buffers: list) -> None:
        if "ask" in content:
            self.ask(content["ask"]["id"], content["ask"]["settings"])
        else:
            super()._heard(widget, content, buffers)


@contextmanager
def no_collection() -> Iterator[None]:
    """Put off Python's search for garbage: it looks at everything that torch has loaded, and in
    the middle of an answer the hand would feel it."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def explore(**settings) -> Explorer:
    """Sliders for a schedule, its times, the network and the memory, over a simulated timeline.

    settings: where to start: the fields of `Settings`, in the units of the sliders (ms, MB, GB/s):
    ``explore(schedule="ZB-V", ranks=8, latency=2)``. `.settings`, `.simulated` and `.trace` are
    what is on the screen now.

    Raises TypeError for a setting that there is not, ValueError for a schedule that cannot run.
    """
    return Explorer(checked(settings))


def answer(done: Simulated) -> dict:
    """A simulated step as the page wants it."""
    title = f"{done.schedule!r}, {time_text(done.step_time)}: bubble {percent(done.bubble())}"
    head, body = pack([Part("", title, simulated_table(done))], title, _in_words(title, done))
    return {"head": head, "body": body, "problem": ""}


def _in_words(title: str, done: Simulated) -> str:
    if len(done.busy) > 8 or not done.step_time:
        return f"Timeline. {title}."
    rows = [f"rank {r} computes {percent(b / done.step_time)}" for r, b in enumerate(done.busy)]
    return f"Timeline. {title}. Of {time_text(done.step_time)}, {listed(rows)}."
