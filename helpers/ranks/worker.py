"""The program that runs in the process of one rank.

It starts warm: torch is imported before the job arrives.  It takes one job, sends back the result
or the error, waits until every rank has finished, and ends.

A rank is finished when its process can't communicate any more, and not when its function or its
script has returned: Python waits for every thread that isn't a daemon, and an exit handler may
still send a message.
"""

import os
import queue
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path

from helpers.ranks import protocol
from helpers.ranks.protocol import Call, RankContext, Script, pack
from helpers.ranks.store import HERE, keep_to_loopback, serve_store
from helpers.words import shorten, text_of

CONNECT_S = 120.0  # how long the ranks may take to connect
LARGEST = 1 << 29  # bytes of the largest result that can be sent back
LONGEST_TRACEBACK = 50_000  # characters

Tell = Callable[[dict], None]
# Python's own helper processes, which only wait for their parent.
PYTHONS_OWN = (b"multiprocessing.resource_tracker", b"multiprocessing.forkserver")


def main() -> None:
    """Serve one job, in a fresh interpreter (see `pool`) or in a fork (see `forkserver`)."""
    orders, tell = _take_the_pipes()
    jobs: queue.Queue = queue.Queue()
    ending = Ending()
    threading.Thread(target=_listen, args=(orders, tell, jobs, ending), daemon=True).start()

    try:
        import torch.distributed  # noqa: F401  the slow import, before a job arrives

        import helpers.hang.monitor  # noqa: F401
        from helpers.private import postpone_the_compiler

        postpone_the_compiler()
    except ImportError as error:
        sentence = f"torch cannot be imported ({error}): python -m helpers.doctor says what to do"
        tell({"kind": "error", **error_facts(ImportError(sentence))})
        return
    tell({"kind": "ready"})
    store = None  # served as long as this variable refers to it
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
    jobs.get()  # "exit": until then other ranks may need this rank's store and connections
    _flush()
    os._exit(0)  # skips torch's slow teardown


def _take_the_pipes() -> tuple[int, Tell]:
    """Reserve stdin and stdout for orders and news; redirect everything printed to stderr."""
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
    lock = threading.Lock()  # several threads send news

    def tell(message: dict) -> None:
        with lock:
            protocol.send(news, message)

    return orders, tell


def _listen(orders: int, tell: Tell, jobs: queue.Queue, ending: "Ending") -> None:
    """Hand on orders, answer where the rank stands, and end the rank with the pipe (in a thread).

    The end of the pipe means that the notebook is gone, for whatever reason: then this rank and
    every process that it started must end too.
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
    """Return where the program stands and what it waits for; None if that can't be determined."""
    try:
        from helpers.hang.monitor import the_monitor

        left = ending.finished and left_processes()
        return the_monitor().standing(ending.waits, ending.finished, left)
    except Exception:  # this thread must survive: it ends the rank once the notebook is gone
        traceback.print_exc()
        return None


def end_everything() -> None:
    """Kill this process and the processes that it started."""
    if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
        os.killpg(os.getpid(), signal.SIGKILL)
    os._exit(1)


def _work(context: RankContext, job: Call | Script, tell: Tell, ending: "Ending") -> dict:
    """Run the job, its threads and its exit handlers to the end; return the message about it."""
    try:
        context.apply()
        keep_to_loopback()
        from helpers.hang.monitor import the_monitor
        from helpers.ranks.connect import connect

        place = context.place
        # A thread of checked mode may find a mistake while the program does something else.
        the_monitor().begin(place.rank, lambda error: tell({"kind": "error", **error_facts(error)}))
        if isinstance(job, Call):  # a script connects by itself
            # Longer than the launcher's time-out, whose error can say where every rank stands.
            wait = context.timeout + CONNECT_S
            connect(place, context.backend, wait, context.quiet, context.checked, counted=True)
        tell({"kind": "running"})
        result = job.run()
        ending.run()
        return {"kind": "result", "value": _pack_result(result, place.rank)}
    except BaseException as error:  # SystemExit too: a rank always reports how it ended
        if isinstance(error, KeyboardInterrupt):
            _flush()
        return {"kind": "error", **error_facts(error)}


def _pack_result(value: object, rank: int) -> bytes:
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
            f"the result of rank {rank}, a {type(value).__name__}, takes {len(packed) / 1e6:,.0f} "
            f"MB, and at most {LARGEST / 1e6:,.0f} MB can be sent back: return less of it, or "
            "save it to a file"
        )
    return packed


def error_facts(error: BaseException) -> dict:
    """Return the facts of an error that are sent to the notebook."""
    if isinstance(error, SyntaxError) and error.filename:
        frames = [(error.filename, error.lineno or 1, "")]
    else:
        frames = [(f.filename, f.lineno, f.name) for f in traceback.extract_tb(error.__traceback__)]
    return {
        "time": time.perf_counter(),
        "type": type(error).__name__,
        "text": text_of(error),
        "misfit": str(getattr(error, "misfit", "")),  # of a `Mismatch`
        "frames": frames,
        "traceback": shorten("".join(traceback.format_exception(error)), LONGEST_TRACEBACK),
    }


def _flush() -> None:
    sys.stdout.flush()
    sys.stderr.flush()


class Ending:
    """How far this process has ended. The listening thread reads it."""

    waits = False  # for its threads: the program itself has ended
    finished = False  # nothing is left that Python would wait for

    def run(self) -> None:
        """Wait for the program's threads, then run its exit handlers."""
        from helpers import private

        self.waits = True
        private.wait_for_threads()
        self.waits = False
        private.run_exit_handlers()
        self.finished = True


def left_processes() -> bool:
    """Return whether a descendant of this process is still running.

    Descendants share its process group. Without /proc there is no way to know: False.
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
        except OSError:  # it has just ended
            continue
        if not any(own in command for own in PYTHONS_OWN):
            return True
    return False
