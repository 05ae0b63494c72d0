"""Ranks: start them, connect them, supervise them, and end them.

    launch(function, ranks=3)      a function of the notebook, on real processes
    %%ranks 3                      a cell            (after %load_ext helpers.ranks)
    run_script(path, ranks=3)      a script          (python -m helpers.ranks -n 3 SCRIPT)
    find_place(), connect()        inside a script: who am I, and where are the others

Files, from the ground up:

    launchers, meeting       what the launcher left; where rank 0 listens
    environment              who am I
    watch, broken            a rank says for whom it waits, and which message it missed
    store, connect           from separate processes to one process group
    script                   flags, connection and trace of a script, around its lesson
    protocol                 orders, news and jobs between the notebook and its ranks
    failure                  how a launch went, and which rank failed first
    worker                   the program inside a rank
    forkserver, pool         processes that have imported torch and wait for a job
    output, supervisor       follow one job on its ranks to the end, and leave nothing behind
    launch, magic            the calls of a notebook
"""

from helpers.ranks.connect import BACKENDS, BackendError, connect, disconnect, gpu_of
from helpers.ranks.environment import SOURCES, Place, discover, find_place, usable_cores
from helpers.ranks.failure import Failure, LaunchReport, RankFailed
from helpers.ranks.launch import CannotSend, launch, run_script
from helpers.ranks.launchers import PlaceError
from helpers.ranks.pool import keep_warm
from helpers.ranks.store import ConnectError

__all__ = [
    "BACKENDS",
    "BackendError",
    "CannotSend",
    "ConnectError",
    "Failure",
    "LaunchReport",
    "Place",
    "PlaceError",
    "RankFailed",
    "SOURCES",
    "connect",
    "disconnect",
    "discover",
    "find_place",
    "gpu_of",
    "keep_warm",
    "launch",
    "run_script",
    "usable_cores",
]


def load_ipython_extension(shell) -> None:
    """Add the `%%ranks` magic: `%load_ext helpers.ranks` calls this."""
    from helpers.ranks.magic import ranks_cell

    def ranks(line: str, cell: str) -> None:
        ranks_cell(line, cell, shell)

    shell.register_magic_function(ranks, "cell")
