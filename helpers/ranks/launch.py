"""Run a job on several ranks: real processes that really send messages.

    launch(train, ranks=3)                   a function of the notebook, one result per rank
    run_script("intro_DP_GA.py", ranks=3)    a script

Every launch starts fresh interpreters.  Values go in as arguments and come back as results, and
nothing else survives, so that a notebook gives the same answer twice.
"""

import os
import pickle
import queue
import socket
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from helpers.ranks.cells import notebook
from helpers.ranks.failure import Failure, RankFailed, RankState, first_failure, timed_out
from helpers.ranks.jobs import Call, Script, Surroundings
from helpers.ranks.output import Output
from helpers.ranks.packing import pack_call
from helpers.ranks.place import usable_cores
from helpers.ranks.pool import in_notebook, the_pool
from helpers.ranks.process import News, RankProcess

EXIT_S = 5.0  # how long a rank that has finished may take to end
START_S = 120.0  # how long interpreters may take to start
GRACE_S = 0.3  # after the first failure: time for the others to say what happened to them
MOST_RANKS = 64


@dataclass
class Report:
    """How a launch went: the result of each rank, or the failure; what each rank printed."""

    results: list[Any]
    failure: Failure | None
    texts: list[str]
    seconds: float

    @property
    def ok(self) -> bool:
        return self.failure is None

    def __str__(self) -> str:
        if self.failure:
            return str(self.failure)
        return f"{len(self.results)} ranks finished in {self.seconds:.1f} s"

    def __repr__(self) -> str:
        return str(self)


def launch(
    function: Callable,
    ranks: int = 3,
    args: Sequence = (),
    backend: str = "auto",
    timeout: float = 300.0,
    on_error: str = "raise",
    quiet: bool = False,
) -> list[Any] | Report:
    """Run `function(*args)` on `ranks` new processes; give one result per rank.

    Inside the function `torch.distributed` is ready: `dist.get_rank()`, `dist.all_reduce(…)`.
    backend: "auto" (NCCL where each rank has a GPU of its own, gloo elsewhere), "gloo", "nccl".
    timeout: seconds from when all ranks have begun; then they are stopped, and the error says
    where each of them stood.
    on_error: "raise" raises RankFailed; "report" gives a Report instead, whatever happened.
    quiet: show nothing of what the ranks print (the Report still holds it).

    Raises CannotSend where the function cannot travel, and RankFailed, which names the rank that
    failed first and its line.
    """
    if on_error not in ("raise", "report"):
        raise ValueError(f"on_error must be 'raise' or 'report', not {on_error!r}")
    _check(ranks, timeout)
    _not_inside_a_rank()
    here = notebook()
    report = run_job(
        Call(pack_call(function, tuple(args))),
        ranks,
        Surroundings(
            folder=os.getcwd(),
            import_path=[p or os.getcwd() for p in sys.path],
            sources=here.sources,
            backend=backend,
            timeout=timeout,
            quiet=quiet,
        ),
        write=None if quiet else _write,
        cells=here.names,
    )
    if on_error == "report":
        return report
    if report.failure:
        raise RankFailed(report.failure)
    return report.results


def run_script(
    path: str | os.PathLike,
    ranks: int = 3,
    args: Sequence[str] = (),
    timeout: float = 3600.0,
    quiet: bool = False,
) -> Report:
    """Run a script once per rank, as `python path args…` would, each knowing its rank.

    The script finds its place in the environment (`find_place`, or torch's own
    `init_process_group`).  Gives a Report; its `failure` names the rank that failed first.
    """
    _check(ranks, timeout)
    path = Path(path)
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "does not exist"
        raise FileNotFoundError(f"the script {path} {what}: name a Python file")
    surroundings = Surroundings(
        folder=os.getcwd(),
        import_path=[p for p in sys.path if p],
        connect=False,
        timeout=timeout,
        quiet=quiet,
    )
    job = Script(str(path), [str(a) for a in args])
    return run_job(job, ranks, surroundings, write=None if quiet else _write, cells={})


def run_job(
    job: Call | Script,
    ranks: int,
    surroundings: Surroundings,
    write: Callable[[str], object] | None,
    cells: dict[str, str],
) -> Report:
    """Start the processes, give each the job, follow them to the end, leave nothing behind."""
    _not_inside_a_rank()
    begun = time.monotonic()
    news: queue.Queue[News] = queue.Queue(maxsize=256)  # a flood of text waits in the rank
    states = [RankState(rank) for rank in range(ranks)]
    output = Output(ranks, write)
    pool = the_pool()
    processes = pool.take(ranks, news)
    try:
        processes[0].order(kind="serve")
        failure = _follow(job, processes, states, output, news, surroundings, cells)
    finally:
        _end(processes, news, output, states)
        if in_notebook():
            pool.size = max(pool.size, ranks)
        pool.refill()
    results = [pickle.loads(s.result) if s.finished and not failure else None for s in states]
    return Report(results, failure, output.texts, time.monotonic() - begun)


def _follow(job, processes, states, output, news, surroundings, cells) -> Failure | None:
    """Handle the ranks' news until all have finished, one has failed, or the time is over."""
    free_port = _free_port()
    asked = False  # whether the ranks were asked where they stand
    limit = time.monotonic() + START_S
    while not all(s.finished for s in states):
        try:
            item = news.get(timeout=max(0.0, limit - time.monotonic()))
        except queue.Empty:
            if any(s.failed for s in states):
                return first_failure(states, cells)
            if asked:
                return timed_out(states, surroundings.timeout, cells)
            asked, limit = True, time.monotonic() + 1.0
            for process in processes:
                process.order(kind="stack")
            continue
        before = [(s.failed, s.running) for s in states]
        _note(item, states, output)
        if item.kind == "message" and item.value["kind"] == "port":
            for process in processes:
                place = _place(process.rank, len(processes), item.value["port"], free_port)
                process.order(
                    kind="job", job=job, surroundings=replace(surroundings, environment=place)
                )
        if [(s.failed, s.running) for s in states] != before:
            limit = _limit(states, limit, surroundings.timeout)
        if asked and all(s.stack or s.finished for s in states):
            return timed_out(states, surroundings.timeout, cells)
    return None


def _limit(states: list[RankState], limit: float, timeout: float) -> float:
    """When to stop waiting, after a rank has failed or begun: the clock starts with the last."""
    if any(s.failed for s in states):
        return min(limit, time.monotonic() + GRACE_S)
    if all(s.running for s in states):
        return time.monotonic() + timeout
    return limit


def _note(item: News, states: list[RankState], output: Output) -> None:
    """Write one piece of news into the states and on the screen."""
    state = states[item.rank]
    if item.kind == "text":
        output.add(item.rank, item.value)
    elif item.kind == "ended":
        state.status = item.value
    elif item.value["kind"] == "result":
        state.result = item.value["value"]
    elif item.value["kind"] == "error":
        state.error = item.value
    elif item.value["kind"] == "running":
        state.running = True
    elif item.value["kind"] == "stack":
        state.stack = item.value["frames"]


def _place(rank: int, ranks: int, store_port: int, free_port: int) -> dict[str, str]:
    """The environment variables that tell a rank its place."""
    facts = os.environ | {  # the rank may have been started before a variable was set
        "LAB_RANK": rank,
        "LAB_WORLD_SIZE": ranks,
        "LAB_STORE_PORT": store_port,
        # What torch's own init_process_group reads, for scripts that call it themselves.
        "RANK": rank,
        "WORLD_SIZE": ranks,
        "LOCAL_RANK": rank,
        "LOCAL_WORLD_SIZE": ranks,
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": free_port,
    }
    return {name: str(value) for name, value in facts.items()}


def _free_port() -> int:
    """A port that nobody uses now, chosen by the system."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _end(
    processes: list[RankProcess],
    news: queue.Queue[News],
    output: Output,
    states: list[RankState],
) -> None:
    """End every process: those that finished by themselves, the others at once."""
    well = all(s.finished for s in states)
    for process in processes:
        if well:
            process.order(kind="exit")
        else:
            process.kill()
    deadline = time.monotonic() + EXIT_S
    running = {p.rank for p in processes if states[p.rank].status is None}
    while running:
        try:
            item = news.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            for process in processes:  # some thread of the rank does not want to end
                process.kill()
            deadline = time.monotonic() + EXIT_S
            continue
        _note(item, states, output)
        if item.kind == "ended":
            running.discard(item.rank)
    for process in processes:
        process.kill()  # what the rank itself started, and left behind
        process.close()
        output.add(process.rank, b"", final=True)


def _not_inside_a_rank() -> None:
    if "LAB_RANK" in os.environ:
        raise RuntimeError(
            f"this code runs inside rank {os.environ['LAB_RANK']} already, and a rank cannot start "
            "ranks: call launch() or %%ranks from the notebook, outside of the function"
        )


def _check(ranks: int, timeout: float) -> None:
    if not isinstance(ranks, int) or isinstance(ranks, bool) or not 1 <= ranks <= MOST_RANKS:
        raise ValueError(
            f"ranks must be a whole number from 1 to {MOST_RANKS}, not {ranks!r} "
            f"(this machine has {usable_cores()} cores)"
        )
    if not isinstance(timeout, int | float) or not timeout > 0:
        raise ValueError(f"timeout must be a number of seconds above 0, not {timeout!r}")


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()
