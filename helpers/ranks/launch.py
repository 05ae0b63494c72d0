"""Run a job on several ranks: real processes that really send messages.

    launch(train, ranks=3)                   a function of the notebook, one result per rank
    run_script("intro_DP_GA.py", ranks=3)    a script

Every launch starts fresh interpreters.  Values go in as arguments and come back as results, and
nothing else survives, so that a notebook gives the same answer twice.
"""

import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

from helpers.files import as_path
from helpers.ranks.backend import require_backend
from helpers.ranks.cells import notebook
from helpers.ranks.failure import Failure, RankFailed
from helpers.ranks.follow import run_job
from helpers.ranks.jobs import Call, Script, Surroundings
from helpers.ranks.limits import check_limits, not_inside_a_rank
from helpers.ranks.packing import pack_call
from helpers.ranks.pool import in_notebook
from helpers.ranks.report import Report


def launch(
    function: Callable,
    ranks: int = 3,
    args: Sequence = (),
    backend: str = "auto",
    timeout: float = 300.0,
    on_error: str = "raise",
    quiet: bool = False,
    checked: bool = True,
) -> list[Any] | Report:
    """Run `function(*args)` on `ranks` new processes; give one result per rank.

    Inside the function `torch.distributed` is ready: `dist.get_rank()`, `dist.all_reduce(…)`.
    backend: "auto" (NCCL where each rank has a GPU of its own, gloo elsewhere), "gloo", "nccl".
    timeout: seconds from when all ranks have begun; then they are stopped, and the error says
        where each of them stood. Ranks that can never go on are stopped after two seconds.
    on_error: "raise" raises RankFailed; "report" gives a Report instead, whatever happened.
    quiet: show nothing of what the ranks print (the Report still holds it).
    checked: refuse a message or a collective that does not fit before it does harm, with an error
        that names it. Costs a fraction of a millisecond for each; False where speed is measured.

    Raises ValueError for arguments that cannot be, CannotSend where the function cannot travel,
    and RankFailed, which names the rank that failed first and its line, or who waits for whom.
    """
    if on_error not in ("raise", "report"):
        raise ValueError(f"on_error must be 'raise' or 'report', not {on_error!r}")
    check_limits(ranks, timeout)
    require_backend(backend)
    not_inside_a_rank()
    here = notebook()
    report = run_job(
        Call(pack_call(function, tuple(args))),
        ranks,
        Surroundings(
            folder=os.getcwd(),
            import_path=[p or os.getcwd() for p in sys.path],
            sources=here.sources,
            cells=here.names,
            backend=backend,
            timeout=timeout,
            quiet=quiet,
            checked=checked,
        ),
        write=None if quiet else write_now,
    )
    if on_error == "report":
        return report
    raise_failure(report.failure)
    return report.results


def run_script(
    path: str | os.PathLike,
    ranks: int = 3,
    args: Sequence[str] = (),
    timeout: float = 3600.0,
    quiet: bool = False,
    checked: bool = False,
) -> Report:
    """Run a script once per rank, as `python path args…` would, each knowing its rank.

    The script finds its place in the environment (`find_place`, or torch's own
    `init_process_group`).  Gives a Report; its `failure` names the rank that failed first, or who
    waits for whom.
    checked: as in `launch`, for a script that calls `connect()`.
    """
    check_limits(ranks, timeout)
    path = as_path(path)
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "does not exist"
        raise FileNotFoundError(f"the script {path} {what}: name a Python file")
    surroundings = Surroundings(
        folder=os.getcwd(),
        import_path=[p for p in sys.path if p],
        connect=False,
        timeout=timeout,
        quiet=quiet,
        checked=checked,
    )
    job = Script(str(path), [str(a) for a in args])
    return run_job(job, ranks, surroundings, write=None if quiet else write_now)


def raise_failure(failure: Failure | None) -> None:
    """Raise RankFailed where there is a failure; in a notebook, show its picture first."""
    if failure is None:
        return
    if failure.picture and in_notebook():
        from IPython.display import display

        display(failure.picture)
    raise RankFailed(failure)


def write_now(text: str) -> None:
    """Show what ranks print as it comes."""
    sys.stdout.write(text)
    sys.stdout.flush()
