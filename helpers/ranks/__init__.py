"""Ranks: start them, connect them, supervise them, and end them.

launch(function, ranks=3)      a function of the notebook, on real processes
%%ranks 3                      a cell            (after %load_ext helpers.ranks)
run_script(path, ranks=3)      a script          (python -m helpers.ranks -n 3 SCRIPT)
find_place(), connect()        inside a script: who am I, and where are the others
"""

from functools import partial

from helpers.ranks.connect import BackendError, connect, disconnect, usable_cores
from helpers.ranks.environment import PlaceError, discover, find_place
from helpers.ranks.failure import Failure, LaunchReport, RankFailed
from helpers.ranks.magic import ranks_cell
from helpers.ranks.pool import keep_warm
from helpers.ranks.start import CannotSend, launch, run_script
from helpers.ranks.store import ConnectError, Place

__all__ = [
    "BackendError", "CannotSend", "ConnectError", "Failure", "LaunchReport", "Place", "PlaceError",
    "RankFailed", "connect", "disconnect", "discover", "find_place", "keep_warm", "launch",
    "run_script", "usable_cores",
]  # fmt: skip


def load_ipython_extension(shell) -> None:
    """Add the `%%ranks` magic, and prepare the first launch: `%load_ext helpers.ranks` calls it."""
    shell.register_magic_function(partial(ranks_cell, shell=shell), "cell", "ranks")
    keep_warm(3)
