"""The program that runs in the process of one rank.

It is started warm: torch is imported before the job arrives.  It takes one job, sends back
its result or its error, waits until every rank has finished, and ends.
"""

import functools
import os
import queue
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable

from helpers.hang.places import locate
from helpers.ranks import protocol
from helpers.ranks.ending import Ending, left_processes
from helpers.ranks.jobs import Call, Script, Surroundings
from helpers.ranks.store import HERE, keep_to_loopback, serve
from helpers.ranks.wording import LONGEST_TRACEBACK, cut, text_of

CONNECT_S = 120.0  # how long the ranks may take to find each other
LARGEST = 1 << 29  # bytes of a result that can be sent back

Tell = Callable[[dict], None]


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
        tell({"kind": "error", **describe(ImportError(sentence))})
        return
    tell({"kind": "ready"})
    store = None  # served for as long as this variable holds it
    while (message := jobs.get())["kind"] == "serve":
        store = _serve_store()
        tell({"kind": "port", "port": store.port})
    if message["kind"] == "exit":
        return
    result = _work(message["surroundings"], message["job"], tell, ending)
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


def _listen(orders: int, tell: Tell, jobs: queue.Queue, ending: Ending) -> None:
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


def _standing(ending: Ending):
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


def _serve_store():
    """Serve torch's key-value store on a port that the system chooses."""
    return serve(HERE)


def _work(surroundings: Surroundings, job: Call | Script, tell: Tell, ending: Ending) -> dict:
    """Run the job to the end of its threads and exit handlers; return how it went, as a message."""
    try:
        surroundings.apply()
        keep_to_loopback()
        from helpers.hang.watch import the_watch
        from helpers.ranks.connect import connect
        from helpers.ranks.place import find_place

        place = find_place()
        the_watch().begin(
            place.rank,
            mistake=functools.partial(_mistake, tell),
            phrase=lambda operation: locate([operation.place], surroundings.cells).phrase,
        )
        if surroundings.connect:
            # The launcher's own time-out comes first: it can say where every rank stands.
            wait = surroundings.timeout + CONNECT_S
            checked = surroundings.checked
            connect(place, surroundings.backend, wait, surroundings.quiet, checked)
        tell({"kind": "running"})
        result = job.run()
        ending.run()
        return {"kind": "result", "value": _pack_result(result, place.rank)}
    except BaseException as error:  # SystemExit too: a rank must always say how it ended
        if isinstance(error, KeyboardInterrupt):
            _flush()
        return {"kind": "error", **describe(error)}


def _mistake(tell: Tell, error: Exception) -> None:
    """A mistake that a thread has found, while the program itself does something else."""
    tell({"kind": "error", **describe(error)})


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


def describe(error: BaseException) -> dict:
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
        "traceback": cut("".join(traceback.format_exception(error)), LONGEST_TRACEBACK),
    }


def _flush() -> None:
    sys.stdout.flush()
    sys.stderr.flush()
