"""The game in a notebook: the page asks, this kernel answers; progress is kept with the rest."""

import anywidget
import traitlets

from helpers.draw import Picture, timeline
from helpers.play.answers import answer
from helpers.play.board import Board
from helpers.play.finish import finished
from helpers.play.levels import level_of
from helpers.play.page import asset, module_text
from helpers.record import note, noted
from helpers.trace import Trace


class Play(anywidget.AnyWidget):
    """What `play` returns: the game, opened at a level or a plan."""

    _esm = module_text(asset("notebook.js"))
    _css = asset("play.css")
    start = traitlets.Dict().tag(sync=True)
    progress = traitlets.Dict().tag(sync=True)

    def __init__(self, start: dict):
        super().__init__(start=start, progress=noted("levels"))
        self.on_msg(self._heard)

    def __repr__(self) -> str:
        return f"<Play: {self.start.get('link') or self.start.get('level') or 'all levels'}>"

    def picture(self) -> Picture:
        """Return what a page without a kernel shows: the level's plan, half finished."""
        board = Board(level_of(self.start.get("level", "one"), self.start.get("costs", {})))
        done = finished(board).simulated
        orders = [
            tuple(a for a, end in zip(order, ends, strict=True) if end <= done.step_time / 2)
            for order, ends in zip(done.schedule.ranks, done.times.ends, strict=True)
        ]
        half = Board(board.level, tuple(orders))
        trace = half.simulated.trace
        bare = Trace(trace.events, trace.meta)  # a level's memory has no bytes
        return timeline(bare, f"{board.level.title}: a plan, half finished")

    def _heard(self, _, content: dict, buffers: list) -> None:
        if "keep" in content:
            kept = content["keep"]
            facts = {"best": float(kept["best"]), "helped": bool(kept["helped"])}
            note("levels", str(kept["level"]), facts)
            return
        question = dict(content["question"])
        said = _on_ranks(question) if question.get("do") in ("run", "train") else answer(question)
        self.send({"answer": content["ask"], "from": content["from"], "said": said})


def _on_ranks(question: dict) -> dict:
    from helpers.play.real import answered  # torch: only once somebody asks for it

    try:
        return answered(question)
    except Exception as error:  # the page shows it, because no cell is running
        return {"refused": f"{type(error).__name__}: {error}", "needs": []}


def play(level: str = "", **costs) -> Play:
    """Show the game: build a schedule by hand, then run it on real ranks.

    Args:
        level: the id of a level, or a link that somebody has shared; left out, the first level
            that isn't won yet.
        costs: of the level "own": ranks, micro_batches, forward, input_grad, weight_grad, latency,
            cap (0: no limit), split (1: I and W), shape (0: a line, 1: a loop, 2: a V).

    Raises:
        ValueError: for an unknown level or a cost out of range.
    """
    if "level=" in level:
        return Play({"link": level})
    if level or costs:
        level_of(level or "own", costs)
        return Play({"level": level or "own", "costs": costs})
    return Play({})
