"""Run a function or a script on several ranks: fresh processes that really send messages.

Values go in as arguments and come back as results, and nothing else survives, so that running a
cell twice returns the same result.
"""

import functools
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
from helpers.words import many

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
        ValueError, CannotSend: for invalid arguments, and for what can't be pickled.
        RankFailed: names the rank that failed first and its line, or which rank waits for which.
    """
    if on_error not in ("raise", "report"):
        raise ValueError(f"on_error must be 'raise' or 'report', not {on_error!r}")
    how = {"backend": backend, "timeout": timeout, "quiet": quiet, "checked": checked}
    report = run_call(function, args, ranks, **how)
    if on_error == "report":
        return report
    raise_failure(report.failure)
    return report.results


def run_call(
    function: Callable, args: Sequence, ranks: int, silent: bool | None = None, **options: Any
) -> LaunchReport:
    """Run a function of this process on ranks that know the notebook's cells.

    silent: show nothing that they print; None: as the option "quiet" says. options: of `Job`.
    """
    require_backend(options["backend"])
    for name, number in private.cells_of(the_shell()).items():
        CELLS[name] = f"cell [{number}]"  # `locate` calls them so here too
    cells = [(name, cell, "".join(linecache.getlines(name))) for name, cell in CELLS.items()]
    options["call"] = pack_call(function, tuple(args))
    return _run(ranks, options["quiet"] if silent is None else silent, cells=cells, **options)


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
    `init_process_group`). checked: as in `launch`, for a script that calls `connect()`.

    Raises:
        ValueError, FileNotFoundError: for invalid arguments, and if there is no such file.
    """
    path = as_path(path)
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "does not exist"
        raise FileNotFoundError(f"the script {path} {what}: name a Python file")
    script = [str(path), *map(str, args)]
    return _run(ranks, quiet, script=script, timeout=timeout, quiet=quiet, checked=checked)


def _run(ranks: int, silent: bool, **options: Any) -> LaunchReport:
    if not isinstance(ranks, int) or isinstance(ranks, bool) or not 1 <= ranks <= MOST_RANKS:
        raise ValueError(
            f"ranks must be a whole number from 1 to {MOST_RANKS}, not {ranks!r} "
            f"(this machine has {many(usable_cores(), 'core')})"
        )
    timeout = options["timeout"]
    number = isinstance(timeout, int | float) and not isinstance(timeout, bool)
    if not number or not timeout > 0 or math.isinf(timeout):
        raise ValueError(f"timeout must be a number of seconds above 0, not {timeout!r}")
    path = [folder or os.getcwd() for folder in sys.path]
    write = None if silent else functools.partial(print, end="", flush=True)
    return run_job(Job(os.getcwd(), path, **options), ranks, write)


def raise_failure(failure: Failure | None) -> None:
    """Raise RankFailed if there is a failure; in a notebook, display who waited for whom first."""
    if failure is None:
        return
    if failure.waits and in_notebook():
        from IPython.display import display

        display(failure.waits)
    raise RankFailed(failure)


def pack_call(function: Callable, arguments: tuple) -> bytes:
    """Pickle a call; raise CannotSend with the name of the variable or argument that can't."""
    if not callable(function):
        raise CannotSend(
            f"launch() needs a function, not {function!r:.60}: write launch(train), "
            "without calling it"
        )
    try:
        return pack((function, arguments))
    except Exception as error:
        name, found = getattr(function, "__name__", repr(function)), inspect.unwrap(function)
        culprits = [(f"argument {n} of {name}()", "", v) for n, v in enumerate(arguments, 1)]
        if inspect.isfunction(found):
            used = inspect.getclosurevars(found)
            for each, value in sorted((used.globals | used.nonlocals).items()):
                culprits.append((f"{name}()", f", because it uses {each!r}", value))
        for what, why, value in culprits:
            try:
                pack(value)
            except Exception:
                kind, cure = f"it is a {type(value).__name__}", "make it inside the function"
                if hasattr(value, "acquire") and hasattr(value, "release"):
                    kind += ", which means nothing in another process"
                elif hasattr(value, "fileno") and hasattr(value, "read"):
                    kind = f"it is an open file ({value.name!r})"
                    cure = "open the file inside the function"
                sentence = f"{what} cannot be sent to the ranks{why}: {kind}; {cure} instead"
                raise CannotSend(sentence) from None
        raise CannotSend(f"{name}() cannot be sent to the ranks: {error}") from None
