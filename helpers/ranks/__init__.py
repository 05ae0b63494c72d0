"""Ranks: start them, connect them, follow them, and end them.

    launch(function, ranks=3)      a function of the notebook, on real processes
    %%ranks 3                      a cell            (after %load_ext helpers.ranks)
    run_script(path, ranks=3)      a script          (python -m helpers.ranks -n 3 SCRIPT)
    find_place(), connect()        inside a script: who am I, and where are the others

Files, from the ground up: `slurm`, `launchers`, `rendezvous`, `discover` read what a launcher left;
`place` and `backend` decide, `interface`, `store` and `connect` join; `protocol`, `jobs`, `worker`
are the inside of a rank; `limits`, `forkserver`, `process`, `pool`, `output`, `failure`, `report`
are the notebook's side, which `follow` puts together; `packing`, `cells`, `launch`, `magic` are
what a notebook calls.
"""

from helpers.ranks.connect import BACKENDS, BackendError, connect, disconnect, gpu_of
from helpers.ranks.environment import SOURCES, Place, discover, find_place, usable_cores
from helpers.ranks.failure import Failure, RankFailed, Report
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
    "Place",
    "PlaceError",
    "RankFailed",
    "Report",
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
    """Called by `%load_ext helpers.ranks`: adds the `%%ranks` magic."""
    from helpers.ranks.magic import ranks_cell

    def ranks(line: str, cell: str) -> None:
        ranks_cell(line, cell, shell)

    shell.register_magic_function(ranks, "cell")
