"""The program that runs in the process of one rank.

It is started warm: torch is imported before the job arrives.  It takes one job, sends back
its result or its error, waits until every rank has finished, and ends.
"""

import atexit
import os
import queue
import signal
import sys
import threading
import time
import traceback
from types import FrameType

from helpers.ranks import protocol
from helpers.ranks.jobs import Call, Script, Surroundings

CONNECT_S = 120.0  # how long the ranks may take to find each other


def main() -> None:
    """Serve one job.  Called by `helpers.ranks.process` in a fresh interpreter."""
    orders, news = _take_the_pipes()
    jobs: queue.Queue = queue.Queue()
    threading.Thread(target=_listen, args=(orders, news, jobs), daemon=True).start()

    try:
        import torch.distributed  # noqa: F401  the slow import, done before a job is there
    except ImportError as error:
        sentence = f"torch cannot be imported ({error}): python -m helpers.doctor says what to do"
        protocol.send(news, {"kind": "error", **describe(ImportError(sentence))})
        return
    protocol.send(news, {"kind": "ready"})
    store = None  # served for as long as this variable holds it
    while (message := jobs.get())["kind"] == "serve":
        store = _serve_store()
        protocol.send(news, {"kind": "port", "port": store.port})
    if message["kind"] == "exit":
        return
    result = _work(message["surroundings"], message["job"], news)
    try:
        protocol.send(news, result)
    except OSError:
        return  # the notebook is gone
    _flush()
    jobs.get()  # "exit": other ranks may still need the store that this process serves
    _leave()


def _leave() -> None:
    """End as Python does, without taking torch apart piece by piece, which takes a while."""
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()
    atexit._run_exitfuncs()
    _flush()
    os._exit(0)


def _take_the_pipes() -> tuple[int, int]:
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
    return orders, news


def _listen(orders: int, news: int, jobs: queue.Queue) -> None:
    """In a thread of its own: hand orders on; tell where the main thread stands; die at the end.

    The end of the pipe means that the notebook is gone, however it went: then this rank, and all
    that it started, must go too.
    """
    while True:
        try:
            message = protocol.receive(orders)
        except (EOFError, OSError):
            end_everything()
        if message["kind"] == "stack":
            frame = sys._current_frames().get(threading.main_thread().ident)
            protocol.send(news, {"kind": "stack", "frames": frames_of(frame)})
        else:
            jobs.put(message)


def end_everything() -> None:
    """End this process and the processes that it started, at once."""
    if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
        os.killpg(os.getpid(), signal.SIGKILL)
    os._exit(1)


def _serve_store():
    """Serve torch's key-value store on a port that the system chooses."""
    import torch.distributed as dist

    return dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)


def _work(surroundings: Surroundings, job: Call | Script, news: int) -> dict:
    """Run the job; the message that tells how it went."""
    try:
        surroundings.apply()
        from helpers.ranks.connect import connect, disconnect
        from helpers.ranks.place import find_place

        if surroundings.connect:
            # The launcher's own time-out comes first: it can say where every rank stands.
            wait = surroundings.timeout + CONNECT_S
            connect(find_place(), surroundings.backend, wait, surroundings.quiet)
        protocol.send(news, {"kind": "running"})
        value = job.run()
        message = {"kind": "result", "value": _pack_result(value)}
        disconnect()
        return message
    except BaseException as error:  # SystemExit too: a rank must always say how it ended
        if isinstance(error, KeyboardInterrupt):
            _flush()
        return {"kind": "error", **describe(error)}


def _pack_result(value: object) -> bytes:
    import cloudpickle

    try:
        return cloudpickle.dumps(value)
    except Exception as error:
        raise TypeError(
            f"the result, a {type(value).__name__}, cannot be sent back ({error}): "
            "return numbers, text, lists or tensors"
        ) from None


def describe(error: BaseException) -> dict:
    """The facts of an error that travel to the notebook."""
    if isinstance(error, SyntaxError) and error.filename:
        frames = [(error.filename, error.lineno or 1, "")]
    else:
        frames = [(f.filename, f.lineno, f.name) for f in traceback.extract_tb(error.__traceback__)]
    return {
        "time": time.perf_counter(),
        "type": type(error).__name__,
        "text": str(error),
        "frames": frames,
        "traceback": "".join(traceback.format_exception(error)),
    }


def frames_of(frame: FrameType | None) -> list[tuple[str, int, str]]:
    """File, line and function of every frame, the outermost first."""
    return [(f.filename, f.lineno, f.name) for f in traceback.extract_stack(frame)] if frame else []


def _flush() -> None:
    sys.stdout.flush()
    sys.stderr.flush()
