"""The program that runs in the process of one rank.

It starts warm: torch is imported before the job arrives.  It takes one job, sends back the result
or the error, waits until every rank has finished, and ends.

A rank is finished when its process can't communicate any more, and not when its function or its
script has returned: Python waits for every thread that isn't a daemon, and an exit handler may
still send a message.
"""

import atexit
import functools
import os
import queue
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path

from helpers.hang.places import locate
from helpers.ranks import protocol
from helpers.ranks.failure import LONGEST_TRACEBACK, shorten, text_of
from helpers.ranks.protocol import Call, RankContext, Script
from helpers.ranks.store import HERE, keep_to_loopback, serve_store

CONNECT_S = 120.0  # how long the ranks may take to find each other
LARGEST = 1 << 29  # bytes of a result that can be sent back

Tell = Callable[[dict], None]
# Processes that Python starts for itself, and that do nothing but wait for their parent.
PYTHONS_OWN = (b"multiprocessing.resource_tracker", b"multiprocessing.forkserver")


def main() -> None:
    """Serve one job.  Called by `helpers.ranks.process` in a fresh interpreter."""
    orders, tell = _take_the_pipes()
    jobs: queue.Queue = queue.Queue()
    ending = Ending()
    threading.Thread(target=_listen, args=(orders, tell, jobs, ending), daemon=True).start()

    try:
        import torch.distributed  # noqa: F401  the slow import, done before a job is there

        import helpers.hang.watch  # noqa: F401
    except ImportError as error:
        sentence = f"torch cannot be imported ({error}): python -m helpers.doctor says what to do"
        tell({"kind": "error", **error_facts(ImportError(sentence))})
        return
    tell({"kind": "ready"})
    store = None  # served for as long as this variable holds it
    while (message := jobs.get())["kind"] == "serve":
        store = serve_store(HERE)
        tell({"kind": "port", "port": store.port})
    if message["kind"] == "exit":
        return
    result = _work(message["context"], message["job"], tell, ending)
    try:
        tell(result)
    except OSError:
        return  # the notebook is gone
    _flush()
    jobs.get()  # "exit": other ranks may still need this rank's store and connections
    _flush()
    os._exit(0)  # without taking torch apart piece by piece, which takes a while


def _take_the_pipes() -> tuple[int, Tell]:
    """Keep stdin and stdout for orders and news; let everything that is printed go to stderr."""
    orders, news = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    for name, descriptor in (("stdout", 1), ("stderr", 2)):
        text = open(  # noqa: SIM115  open until the process ends
            descriptor,
            "w",
            buffering=1,
            encoding="utf-8",
            errors="backslashreplace",
            closefd=False,
        )
        setattr(sys, name, text)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115
    lock = threading.Lock()  # several threads have news

    def tell(message: dict) -> None:
        with lock:
            protocol.send(news, message)

    return orders, tell


def _listen(orders: int, tell: Tell, jobs: queue.Queue, ending: "Ending") -> None:
    """In a thread of its own: hand orders on; tell where the rank stands; die at the end.

    The end of the pipe means that the notebook is gone, however it went: then this rank, and all
    that it started, must go too.
    """
    while True:
        try:
            message = protocol.receive(orders)
            if message["kind"] == "where":
                tell({"kind": "where", "standing": _standing(ending), "round": message["round"]})
            else:
                jobs.put(message)
        except (EOFError, OSError):
            end_everything()


def _standing(ending: "Ending"):
    """Where the program stands, and what it waits for; None where that cannot be told."""
    try:
        from helpers.hang.watch import the_watch

        left = ending.finished and left_processes()
        return the_watch().standing(ending.waits, ending.finished, left)
    except Exception:  # this thread must live: it ends the rank when the notebook is gone
        traceback.print_exc()
        return None


def end_everything() -> None:
    """End this process and the processes that it started, at once."""
    if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
        os.killpg(os.getpid(), signal.SIGKILL)
    os._exit(1)


def _work(context: RankContext, job: Call | Script, tell: Tell, ending: "Ending") -> dict:
    """Run the job to the end of its threads and exit handlers; return how it went, as a message."""
    try:
        context.apply()
        keep_to_loopback()
        from helpers.hang.watch import the_watch
        from helpers.ranks.connect import connect

        place = context.place
        the_watch().begin(
            place.rank,
            mistake=functools.partial(_mistake, tell),
            phrase=lambda operation: locate([operation.place], context.cells).phrase,
        )
        if context.connect:
            # The launcher's own time-out comes first: it can say where every rank stands.
            wait = context.timeout + CONNECT_S
            checked = context.checked
            connect(place, context.backend, wait, context.quiet, checked)
        tell({"kind": "running"})
        result = job.run()
        ending.run()
        return {"kind": "result", "value": _pack_result(result, place.rank)}
    except BaseException as error:  # SystemExit too: a rank must always say how it ended
        if isinstance(error, KeyboardInterrupt):
            _flush()
        return {"kind": "error", **error_facts(error)}


def _mistake(tell: Tell, error: Exception) -> None:
    """A mistake that a thread has found, while the program itself does something else."""
    tell({"kind": "error", **error_facts(error)})


def _pack_result(value: object, rank: int) -> bytes:
    import cloudpickle

    try:
        packed = cloudpickle.dumps(value)
    except Exception as error:
        raise TypeError(
            f"the result, a {type(value).__name__}, cannot be sent back ({error}): "
            "return numbers, text, lists or tensors"
        ) from None
    if len(packed) > LARGEST:
        raise ValueError(
            f"the result of rank {rank}, a {type(value).__name__}, takes {len(packed) / 1e6:,.0f} "
            f"MB, and at most {LARGEST / 1e6:,.0f} MB can be sent back: return less of it, or "
            "save it to a file"
        )
    return packed


def error_facts(error: BaseException) -> dict:
    """The facts of an error that travel to the notebook."""
    if isinstance(error, SyntaxError) and error.filename:
        frames = [(error.filename, error.lineno or 1, "")]
    else:
        frames = [(f.filename, f.lineno, f.name) for f in traceback.extract_tb(error.__traceback__)]
    return {
        "time": time.perf_counter(),
        "type": type(error).__name__,
        "text": text_of(error),
        "frames": frames,
        "traceback": shorten("".join(traceback.format_exception(error)), LONGEST_TRACEBACK),
    }


def _flush() -> None:
    sys.stdout.flush()
    sys.stderr.flush()


class Ending:
    """How far this process has come. Another thread reads it."""

    waits = False  # for its threads: the program itself has ended
    finished = False  # nothing is left that Python would wait for

    def run(self) -> None:
        """Wait for the program's threads, then run its exit handlers."""
        self.waits = True
        threading._shutdown()  # as Python does at its end; executors end their threads in it too
        self.waits = False
        atexit._run_exitfuncs()
        self.finished = True


def left_processes() -> bool:
    """Whether a process still runs that this one, or one of those that it started, has started.

    They share its group. Where there is no /proc it can't be told: False.
    """
    me = os.getpid()
    group = os.getpgrp() if hasattr(os, "getpgrp") else None
    if group != me:
        return False
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            state, _, its_group = (folder / "stat").read_text().rpartition(")")[2].split()[:3]
            if int(its_group) != group or folder.name == str(me) or state in "ZX":
                continue
            command = (folder / "cmdline").read_bytes()
        except OSError:  # it has ended meanwhile
            continue
        if not any(own in command for own in PYTHONS_OWN):
            return True
    return False
