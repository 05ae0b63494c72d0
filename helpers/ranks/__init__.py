"""Ranks: start them, connect them, supervise them, and end them.

    launch(function, ranks=3)      a function of the notebook, on real processes
    %%ranks 3                      a cell            (after %load_ext helpers.ranks)
    run_script(path, ranks=3)      a script          (python -m helpers.ranks -n 3 SCRIPT)
    find_place(), connect()        inside a script: who am I, and where are the others

Files, from the ground up:

    store                    one process among all; the store in which all ranks meet
    connect                  from separate processes to one process group
    environment              who am I: what the launcher left, and where rank 0 listens
    watch                    under other launchers: for whom a rank waits, and deadlocks
    script                   flags, connection and trace of a script, around its lesson
    job, failure             what is sent to a rank; how a launch went
    worker                   the program inside a rank
    pool                     processes that have imported torch and wait for a job
    output, supervisor       follow one job on its ranks to the end, and leave nothing behind
    start, magic             the calls of a notebook
"""

from importlib import import_module

from helpers.ranks.connect import (
    BACKENDS,
    BackendError,
    connect,
    disconnect,
    gpu_of,
    usable_cores,
)
from helpers.ranks.store import ConnectError, Place

# What a launcher needs and a rank doesn't: each name is imported when it is asked for. No file has
# the name of one of them: importing the file would put it in the function's place.
_MODULES = {
    "CannotSend": "start",
    "Failure": "failure",
    "LaunchReport": "failure",
    "PlaceError": "environment",
    "RankFailed": "failure",
    "SOURCES": "environment",
    "discover": "environment",
    "find_place": "environment",
    "keep_warm": "pool",
    "launch": "start",
    "run_script": "start",
}

__all__ = [
    "BACKENDS",
    "BackendError",
    "ConnectError",
    "Place",
    "connect",
    "disconnect",
    "gpu_of",
    "usable_cores",
    *_MODULES,
]


def __getattr__(name: str):
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)


def worker_main(*channels) -> None:
    """Be a rank. Here, so that a launcher which starts one needn't import torch."""
    from helpers.ranks.worker import main

    main(*channels)


def load_ipython_extension(shell) -> None:
    """Add the `%%ranks` magic, and prepare the first launch: `%load_ext helpers.ranks` calls it."""
    from helpers.ranks.magic import ranks_cell
    from helpers.ranks.pool import keep_warm

    def ranks(line: str, cell: str) -> None:
        ranks_cell(line, cell, shell)

    shell.register_magic_function(ranks, "cell")
    keep_warm(3)
