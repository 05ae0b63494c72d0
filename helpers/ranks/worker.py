"""The program inside the process of one rank: take a job, tell how it went, wait for the end.

A rank has two channels to its launcher: `control` carries the job, questions and answers; `text`
is a plain pipe for everything that is printed, by Python or by C++. When `control` closes, the
launcher is gone, for whatever reason: then this rank ends, and every process that it started.

A rank is finished when its process can't communicate any more, and not when its function or its
script has returned: Python waits for every thread that isn't a daemon, and an exit handler may
still send a message.
"""

import gc
import linecache
import multiprocessing
import os
import pickle
import queue
import runpy
import signal
import sys
import threading
import time
import traceback
from datetime import timedelta
from typing import Any

import numpy

from helpers import private
from helpers.hang.monitor import the_monitor
from helpers.hang.places import CELLS, OURS, is_library
from helpers.ranks.connect import connect
from helpers.ranks.job import Error, Job, pack
from helpers.ranks.store import HERE, launched_store, serve_store
from helpers.words import shorten, text_of

CONNECT_S = 120.0  # how long the ranks may take to connect
LARGEST = 1 << 29  # bytes of the largest result that can be sent back
LONGEST_TRACEBACK = 50_000  # characters
is_library(__file__)  # asks for Python's folders: once in the fork server instead of in each rank
gc.freeze()  # imported last by the process that ranks are forked from: what is there stays shared


KEPT: dict = {}  # what a script leaves: destructors of torch's may wait for other ranks for good


def main(control, text, listening) -> None:
    """Serve one job. text: a pipe on POSIX; elsewhere messages on a connection."""
    if hasattr(os, "setpgid"):
        os.setpgid(0, 0)  # a group of its own, so that the processes that it starts end with it
    _print_to(text)
    # What the process that it was forked from has imported, and how it was started, isn't the
    # program's: such as a start method for a DataLoader's workers, and exit handlers.
    private.forget_exit_handlers()
    multiprocessing.set_start_method(None, force=True)
    numpy.random.seed()  # forks of one process would draw the same numbers
    jobs: queue.Queue = queue.Queue()
    lock = threading.Lock()

    def tell(kind: str, value: Any = None) -> None:
        with lock:
            control.send((kind, value))

    def listen() -> None:
        try:
            while True:
                kind, value = control.recv()
                if kind == "where":
                    tell("where", (value, the_monitor().standing()))
                else:
                    jobs.put(value)
        except (EOFError, OSError):
            end_everything()

    threading.Thread(target=listen, daemon=True, name=f"{OURS}control").start()
    job = jobs.get()
    if job.place.rank == 0:  # as long as this rank lives
        store = serve_store(HERE, listening=listening, timeout=timedelta(seconds=600))
    else:
        store = listening.close()
    try:
        tell("result", _run(job, tell))
    except BaseException as error:  # SystemExit too: a rank always tells how it ended
        tell("error", facts_of(error))
    sys.stdout.flush()
    sys.stderr.flush()
    jobs.get()  # until then other ranks may need this rank's store and connections
    del store
    os._exit(0)  # skips torch's slow teardown


def _run(job: Job, tell) -> bytes:
    os.environ.clear()
    os.environ.update(job.environment)
    os.chdir(job.folder)
    sys.path[:] = job.path
    for name, cell, text in job.cells:
        CELLS[name] = cell
        linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    the_monitor().begin(job.place.rank)
    the_monitor().store = launched_store
    value = None
    if job.script:
        tell("running", True)
        sys.argv = job.script
        sys.path.insert(0, os.path.dirname(os.path.abspath(job.script[0])))
        try:
            KEPT.update(runpy.run_path(job.script[0], run_name="__main__"))
        except SystemExit as end:
            if end.code not in (None, 0):
                raise
    else:
        # Longer than the launcher's time-out, whose error can say where every rank stands.
        connect(job.place, job.backend, job.timeout + CONNECT_S, job.quiet)
        tell("running", True)
        function, arguments = pickle.loads(job.call)
        value = function(*arguments)
    private.end_as_python_does()
    try:
        packed = pack(value)
    except Exception as error:
        why = str(error) or type(error).__name__
        raise TypeError(
            f"the result, a {type(value).__name__}, cannot be sent back ({why}): "
            "return numbers, text, lists or tensors"
        ) from None
    if len(packed) > LARGEST:
        raise ValueError(
            f"the result of rank {job.place.rank}, a {type(value).__name__}, takes "
            f"{len(packed) / 1e6:,.0f} MB, and at most {LARGEST / 1e6:,.0f} MB can be sent back: "
            "return less of it, or save it to a file"
        )
    return packed


def facts_of(error: BaseException) -> Error:
    """Return what is told of an error."""
    frames = [(f.filename, f.lineno, f.name) for f in traceback.extract_tb(error.__traceback__)]
    if isinstance(error, SyntaxError) and error.filename:
        frames = [(error.filename, error.lineno or 1, "")]
    trace = shorten("".join(traceback.format_exception(error)), LONGEST_TRACEBACK)
    return Error(time.perf_counter(), type(error).__name__, text_of(error), frames, trace)


def _print_to(text) -> None:
    """Send whatever this process prints to the launcher."""
    out = text.fileno()
    if os.name == "nt":  # a connection there is no file: a thread carries it over
        read, out = os.pipe()

        def carry() -> None:
            while data := os.read(read, 1 << 16):
                text.send_bytes(data)

        threading.Thread(target=carry, daemon=True, name=f"{OURS}text").start()
    for number, name in ((1, "stdout"), (2, "stderr")):
        os.dup2(out, number)
        how = {"buffering": 1, "encoding": "utf-8", "errors": "backslashreplace"}
        setattr(sys, name, open(number, "w", closefd=False, **how))  # noqa: SIM115


def end_everything() -> None:
    """Kill this process and those that it started."""
    if hasattr(os, "killpg"):
        os.killpg(0, signal.SIGKILL)  # the group that `main` has made
    os._exit(1)
