"""The schedule you can touch: build a plan by hand, see why a move is illegal, win at par.

    play()                       all levels, from the first one that isn't won yet
    play("cap")                  one level; `LEVELS` names them
    play("cap").schedule         the plan on the screen once it's complete, to simulate and to run
    python -m helpers.play       the same as a page of its own

The rules, the times and the coach are in `play.js`, so a notebook and a page without Python play
the same game. Tests hold its times to those of `helpers.simulate`, and par to the named schedules.
"""

from importlib import import_module

from helpers.play.levels import LEVELS, Level, level_of


def play(level: str = ""):
    """Show the game at a level; left out, the first one that isn't won yet. See `widget.Play`.

    Raises:
        ValueError: for an unknown level.
    """
    return import_module("helpers.play.widget").Play(level)  # anywidget, which a browser hasn't
