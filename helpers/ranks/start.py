"""Run a function or a script on several ranks: fresh processes that really send messages.

Values go in as arguments and come back as results, and nothing else survives, so that running a
cell twice returns the same result.
"""

import inspect
import linecache
import math
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

from helpers import private
from helpers.files import as_path
from helpers.hang.places import CELLS
from helpers.ranks.connect import require_backend, usable_cores
from helpers.ranks.failure import Failure, LaunchReport, RankFailed
from helpers.ranks.job import Job, pack
from helpers.ranks.pool import in_notebook, the_shell
from helpers.ranks.supervisor import run_job

MOST_RANKS = 64


class CannotSend(TypeError):
    """A function or a value can't be sent to another process; the message names the culprit."""


def launch(
    function: Callable,
    ranks: int = 3,
    args: Sequence = (),
    backend: str = "auto",
    timeout: float = 300.0,
    on_error: str = "raise",
    quiet: bool = False,
    checked: bool = True,
) -> list[Any] | LaunchReport:
    """Run `function(*args)` on `ranks` new processes and return one result per rank.

    Inside the function `torch.distributed` is ready: `dist.get_rank()`, `dist.all_reduce(…)`.

    Args:
        backend: "auto" (NCCL if each rank has its own GPU, gloo otherwise), "gloo" or "nccl".
        timeout: seconds from when all ranks run; then they are stopped, and the error says where
            each of them stood. A deadlock is stopped after about two seconds.
        on_error: "raise" raises RankFailed; "report" returns a LaunchReport, even on success.
        quiet: don't print the output of the ranks (the LaunchReport still contains it).
        checked: refuse a mismatched message or collective before it does harm, with an error that
            names it. Costs a fraction of a millisecond each, so pass False to measure speed.

    Raises:
        ValueError: for invalid arguments.
        CannotSend: if the function or an argument can't be pickled.
        RankFailed: names the rank that failed first and its line, or which rank waits for which.
    """
    if on_error not in ("raise", "report"):
        raise ValueError(f"on_error must be 'raise' or 'report', not {on_error!r}")
    how = {"backend": backend, "timeout": timeout, "quiet": quiet, "checked": checked}
    report = run_call(function, args, ranks, None if quiet else write_now, **how)
    if on_error == "report":
        return report
    raise_failure(report.failure)
    return report.results


def run_call(
    function: Callable,
    args: Sequence,
    ranks: int,
    write: Callable[[str], object] | None,
    **options: Any,
) -> LaunchReport:
    """Run a function of this process on ranks that know the notebook's cells. options: of `Job`."""
    check_limits(ranks, options["timeout"])
    require_backend(options["backend"])
    cells = notebook_cells()
    sources = {name: "".join(linecache.getlines(name)) for name in cells}
    call = pack_call(function, tuple(args))
    job = Job(os.getcwd(), _path(), cells=cells, sources=sources, call=call, **options)
    return run_job(job, ranks, write)


def run_script(
    path: str | os.PathLike,
    ranks: int = 3,
    args: Sequence[str] = (),
    timeout: float = 3600.0,
    quiet: bool = False,
    checked: bool = False,
) -> LaunchReport:
    """Run a script once per rank, as `python path args…` would, each knowing its rank.

    The script finds its place in the environment (`find_place`, or torch's own
    `init_process_group`). The `failure` of the LaunchReport names the rank that failed first, or
    which rank waits for which.

    Args:
        checked: as in `launch`, for a script that calls `connect()`.

    Raises:
        ValueError: for invalid arguments.
        FileNotFoundError: if there is no such file.
    """
    check_limits(ranks, timeout)
    path = as_path(path)
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "does not exist"
        raise FileNotFoundError(f"the script {path} {what}: name a Python file")
    script = [str(path), *map(str, args)]
    how = {"timeout": timeout, "quiet": quiet, "checked": checked, "script": script}
    return run_job(Job(os.getcwd(), _path(), **how), ranks, None if quiet else write_now)


def _path() -> list[str]:
    return [folder or os.getcwd() for folder in sys.path]


def raise_failure(failure: Failure | None) -> None:
    """Raise RankFailed if there is a failure; in a notebook, display who waited for whom first."""
    if failure is None:
        return
    if failure.waits and in_notebook():
        from IPython.display import display

        display(failure.waits)
    raise RankFailed(failure)


def write_now(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def check_limits(ranks: int, timeout: float) -> None:
    if not isinstance(ranks, int) or isinstance(ranks, bool) or not 1 <= ranks <= MOST_RANKS:
        cores = usable_cores()
        raise ValueError(
            f"ranks must be a whole number from 1 to {MOST_RANKS}, not {ranks!r} "
            f"(this machine has {cores} core{'s' * (cores != 1)})"
        )
    number = isinstance(timeout, int | float) and not isinstance(timeout, bool)
    if not number or not timeout > 0 or math.isinf(timeout):
        raise ValueError(f"timeout must be a number of seconds above 0, not {timeout!r}")


def pack_call(function: Callable, arguments: tuple) -> bytes:
    """Pickle a call; raise CannotSend with the name of the variable or argument that can't."""
    if not callable(function):
        raise CannotSend(
            f"launch() needs a function, not a {type(function).__name__}: write launch(train), "
            "without calling it"
        )
    try:
        return pack((function, arguments))
    except Exception as error:
        name, found = getattr(function, "__name__", repr(function)), inspect.unwrap(function)
        values = [(f"argument {n} of {name}()", "", v) for n, v in enumerate(arguments, 1)]
        if inspect.isfunction(found):
            used = inspect.getclosurevars(found)
            each = sorted((used.globals | used.nonlocals).items())
            values += [(f"{name}()", f", because it uses {n!r}", v) for n, v in each]
        for what, why, value in values:
            try:
                pack(value)
            except Exception:
                kind, cure = (
                    f"it is a {type(value).__name__}",
                    "make it inside the function instead",
                )
                if hasattr(value, "acquire") and hasattr(value, "release"):
                    kind += ", which means nothing in another process"
                elif hasattr(value, "fileno") and hasattr(value, "read"):
                    kind = f"it is an open file ({value.name!r})"
                    cure = "open the file inside the function instead"
                sentence = f"{what} cannot be sent to the ranks{why}: {kind}; {cure}"
                raise CannotSend(sentence) from None
        raise CannotSend(f"{name}() cannot be sent to the ranks: {error}") from None


def notebook_cells() -> dict[str, str]:
    """Return what to call each cell of the notebook that has run, by its file name.

    From now on `locate` calls them so here too. Outside of notebooks there are none.
    """
    for name, number in private.cells_of(the_shell()).items():
        CELLS[name] = f"cell [{number}]"
    return dict(CELLS)
