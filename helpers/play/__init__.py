"""The schedule you can touch: build a plan by hand, see why a move is illegal, then run it.

    play()                       all levels, from the first one that isn't won yet
    play("cap")                  one level; `LEVELS` names them
    play(ranks=2, micro_batches=4, latency=0.5)    your own costs
    python -m helpers.play       the same as a page, answered by this machine

The rules, the simulation, the coach and the score are Python without torch or numpy, so that the
same code answers a notebook, a page of this machine, and a page whose Python runs in the browser.

    board          a plan that grows: legal moves, and the sentence for every other
    levels         what there is to solve, with goal, hint and par
    finish         what is still to do, done well: the coach, "play on", and par
    links          a plan as a link, as torch's CSV
    answers        one question of the page, one answer: data in, data out
    page           the page, and the ES module that a notebook runs too
    widget         the widget; `real` runs the plan on processes of this machine
"""

from helpers.play.answers import answer
from helpers.play.board import Board, Level, Refused
from helpers.play.levels import LEVELS, level_of

__all__ = ["LEVELS", "Board", "Level", "Refused", "answer", "level_of", "play"]


def play(level: str = "", **costs):
    """Return the widget; see `helpers.play.widget.play`."""
    from helpers.play.widget import play as show  # needs anywidget, which a browser doesn't have

    return show(level, **costs)
