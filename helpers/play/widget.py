"""The game in a notebook, and as a page that needs no other file."""

from pathlib import Path

import traitlets
from anywidget import AnyWidget

from helpers.draw import lanes
from helpers.play.levels import LEVELS, level_of
from helpers.record import note, noted
from helpers.schedules import Schedule
from helpers.schedules.schedule import read_action
from helpers.simulate import simulate
from helpers.timeline.packed import module, page, style
from helpers.timeline.widget import Pictured
from helpers.trace import Trace

HERE = Path(__file__).parent


class Play(Pictured, AnyWidget):
    """What `play` returns: level, plan (an order of names for each rank), best seconds by level."""

    _esm = module(HERE / "play.js")
    _css = style(HERE / "play.css", ".lab-play")
    levels = traitlets.List().tag(sync=True)
    level = traitlets.Unicode().tag(sync=True)
    plan = traitlets.List().tag(sync=True)
    best = traitlets.Dict().tag(sync=True)

    def __init__(self, level: str = ""):
        best = {key: facts["best"] for key, facts in noted("levels").items() if "best" in facts}
        super().__init__(**state(level, best))
        self.observe(self._won, "best")

    @property
    def schedule(self) -> Schedule | None:
        """Return the plan on the screen; None as long as something is missing in it."""
        level = level_of(self.level)
        orders = [[read_action(name) for name in order] for order in self.plan]
        if sum(map(len, orders)) < len(level.kinds) * len(level.places) * level.micro_batches:
            return None
        return Schedule("by hand", orders, level.places, level.micro_batches)

    def picture(self):
        """Return what a page without a kernel shows: par's plan, half finished."""
        level = level_of(self.level)
        done = simulate(level.best, level.costs())
        rows = zip(level.best.ranks, done.times.ends, strict=True)
        half = [
            [a for a, end in zip(*row, strict=True) if end <= done.step_time / 2] for row in rows
        ]
        plan = Schedule("by hand", half, level.places, level.micro_batches)
        trace = simulate(plan, level.costs(), proven=True).trace
        bare = Trace(trace.events, trace.meta)  # a level's memory has no bytes
        return lanes(bare, f"{level.title}: a plan, half finished")

    def _won(self, change) -> None:
        for key, seconds in change.new.items():
            if change.old.get(key) != seconds:
                note("levels", key, {"best": seconds})


def state(level: str = "", best: dict | None = None) -> dict:
    """Return what the game begins with."""
    best = best or {}
    chosen = level or next((each.id for each in LEVELS if each.id not in best), LEVELS[0].id)
    levels = [each.as_data() for each in LEVELS]
    return {"levels": levels, "level": level_of(chosen).id, "plan": [], "best": best}


def html(level: str = "") -> str:
    """Return the game as the text of a page that needs no other file."""
    title = "The schedule you can touch"
    return page(title, title, Play._esm, Play._css, state(level))
