"""`python -m mpi_wrapper.rank SCRIPT …`: one rank, whose end is the end of all.

Runs the script as `python -m mpi4py` does: an exception on one rank ends every rank. Without it
the others would wait for that rank for ever. LAB_MPI_STANDS and LAB_MPI_SECONDS, of `mpirun.py`:
after so many seconds, write where this rank stands into that folder.
"""

import faulthandler
import os
from pathlib import Path

from mpi4py.run import main

RANKS = ("OMPI_COMM_WORLD_RANK", "PMI_RANK")


def begin() -> None:
    """Start the clock, if there is one."""
    folder = os.environ.get("LAB_MPI_STANDS")
    rank = next((os.environ[name] for name in RANKS if name in os.environ), None)
    if folder and rank is not None:
        place = open(Path(folder) / f"rank{rank}.txt", "w")  # open as long as the process lives
        faulthandler.dump_traceback_later(float(os.environ["LAB_MPI_SECONDS"]), file=place)


if __name__ == "__main__":
    begin()
    main()
