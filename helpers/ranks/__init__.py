"""Ranks: start them, connect them, supervise them, and end them.

launch(function, ranks=3)      a function of the notebook, on real processes
%%ranks 3                      a cell            (after %load_ext helpers.ranks)
run_script(path, ranks=3)      a script          (python -m helpers.ranks -n 3 SCRIPT)
find_place(), connect()        inside a script: who am I, and where are the others
"""

from importlib import import_module

from helpers.ranks.connect import BackendError, connect, disconnect, usable_cores
from helpers.ranks.store import ConnectError, Place

# What a launcher needs and a rank doesn't: each name is imported when it is asked for. No file has
# the name of one of them: importing the file would put it in the function's place.
_LATER = {
    "environment": ("PlaceError", "discover", "find_place"),
    "failure": ("Failure", "LaunchReport", "RankFailed"),
    "pool": ("keep_warm",),
    "start": ("CannotSend", "launch", "run_script"),
}
_MODULES = {name: module for module, names in _LATER.items() for name in names}
_NOW = ("BackendError", "ConnectError", "Place", "connect", "disconnect", "usable_cores")
__all__ = [*_NOW, *_MODULES]


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
