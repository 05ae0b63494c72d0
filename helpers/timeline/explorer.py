"""A schedule under sliders: the page asks, Python simulates, the page draws."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

import traitlets

from helpers.timeline.settings import Settings, answer, checked_settings, controls
from helpers.timeline.widget import Timeline
from helpers.trace import Trace


class Explorer(Timeline):
    """The widget that `explore` returns. settings: the values of its sliders."""

    controls = traitlets.List().tag(sync=True)

    def __init__(self, settings: Settings):
        self.settings = settings
        self.simulated = settings.simulated()
        super().__init__({}, controls=controls(settings))

    @property
    def trace(self) -> Trace:
        """Return the simulated step as a trace, to save it or to compare it with a measured one."""
        return self.simulated.trace

    @property
    def traces(self) -> dict[str, Trace]:
        """Return the one trace, without a name."""
        return {"": self.trace}

    def _packed(self, title: str | None) -> dict:
        return answer(self.simulated)

    def ask(self, number: int, settings: dict) -> dict:
        """Simulate other settings and send the result to the page, under the question's number.

        If the settings can't run, the answer is the error's sentence, and the picture stays.

        Returns:
            `.data` with the answer in it. It isn't assigned again, because a changed trait would
            travel to the page a second time.
        """
        said, buffers = {"id": number, "problem": ""}, []
        try:
            with no_collection():
                chosen = checked_settings(settings)
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
    """Postpone Python's garbage collection.

    It looks at everything that torch has loaded, which would be felt while a slider moves.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def explore(**settings) -> Explorer:
    """Show sliders for a schedule, its times, network and memory, over a simulated timeline.

    ``explore(schedule="ZB-V", ranks=8, latency=2)``. The attributes `.settings`, `.simulated` and
    `.trace` are what is on the screen now.

    Args:
        settings: where to start: the fields of `Settings`, in the units of the sliders (ms, MB,
            GB/s).

    Raises:
        TypeError: if there is no such setting.
        ValueError: if the schedule can't run.
    """
    return Explorer(checked_settings(settings))
