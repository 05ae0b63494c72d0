"""What the threads of a rank do, and whether something besides the main one could still act."""

import ast
import linecache
import re
import signal
import sys
import threading
import time
from types import FrameType

from helpers import private
from helpers.hang.places import Frame, Frames, is_library

OURS = "lab "  # how the names of our own threads begin


def of_program() -> dict[int, FrameType]:
    """Return the innermost frame of each thread of the program, by the thread's number.

    Threads that were started in C++ are included while they run Python, as callbacks do. Left out
    are our own, and that of a progress bar.
    """
    others = {threading.get_ident()}
    for thread in threading.enumerate():
        if thread.name.startswith(OURS) or type(thread).__module__.partition(".")[0] == "tqdm":
            others.add(thread.ident)
    return {ident: frame for ident, frame in sys._current_frames().items() if ident not in others}


def name_of(ident: int) -> str:
    """Return the name of a thread; "" for the main thread."""
    if ident == threading.main_thread().ident:
        return ""
    thread = next((thread for thread in threading.enumerate() if thread.ident == ident), None)
    return thread.name if thread else "a thread of C++"


def stack(frame: FrameType | None) -> list[Frame]:
    """Return file, line and function of every frame of a thread, the outermost first."""
    frames = []
    while frame is not None:  # traceback.extract_stack also reads the files, which is slow
        frames.append((frame.f_code.co_filename, frame.f_lineno or 0, frame.f_code.co_name))
        frame = frame.f_back
    return frames[::-1]


def handles_signals() -> bool:
    """Return whether a signal would run code of the program: in the main thread, between lines."""
    handlers = [signal.getsignal(number) for number in signal.valid_signals()]
    return any(callable(own) and own is not signal.default_int_handler for own in handlers)


def serves_calls() -> bool:
    """Return whether other ranks may run code in this process, by torch.distributed.rpc."""
    rpc = sys.modules.get("torch.distributed.rpc")
    if not rpc or not rpc.is_available():
        return False
    try:
        return bool(rpc.get_worker_info())
    except RuntimeError:  # it was never begun, or has been shut down
        return False


def inside_torch(frames: list[Frame]) -> bool:
    """Return whether a thread is in C++ where it does nothing but compute or wait for others."""
    return bool(frames) and frames[-1][0] in private.files_that_wait()


def time_used(ident: int) -> int:
    """Return the processor time of a thread in ms: it grows while the thread computes."""
    try:
        return int(1e3 * time.clock_gettime(time.pthread_getcpuclockid(ident)))
    except (AttributeError, OSError):  # not on every system
        return 0


# --- polling -------------------------------------------------------------------------------------


# not work.is_completed(), or not all(work.is_completed() for work in works)
ASKS = re.compile(
    r"not ([\w.\[\]-]+\.is_completed\(\)"
    r"|all\(\[?\(?(\w+)\.is_completed\(\) for \2 in [\w.\[\]-]+\)?\]?\))"
)
PASSES = re.compile(r"pass|continue|(\w+\.)?sleep\([\w.]+\)")  # a step that passes the time


def only_polls(frames: Frames, asked: Frame) -> bool:
    """Return whether a thread is in a loop that only polls for some communication to complete.

        while not work.is_completed():
            time.sleep(0.1)

    Such a loop waits just as work.wait() does. A loop that does anything else, such as count its
    rounds, may end in another way, so nothing can be concluded from it.

    Args:
        frames: the stack of the thread.
        asked: where it last called is_completed().
    """
    mine = [f for f in frames if f[0] == asked[0] or not is_library(f[0])]
    if not mine or (mine[-1][0], mine[-1][2]) != (asked[0], asked[2]):
        return False
    try:
        tree = ast.parse("".join(linecache.getlines(asked[0])))
    except SyntaxError:  # a cell with a magic in it
        return False
    loops = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.While) and node.lineno <= asked[1] <= node.end_lineno
    ]
    if not loops:
        return False
    loop = max(loops, key=lambda node: node.lineno)
    inside = loop.lineno <= mine[-1][1] <= loop.end_lineno
    asks = ASKS.fullmatch(ast.unparse(loop.test))
    return bool(inside and asks) and all(PASSES.fullmatch(ast.unparse(s)) for s in loop.body)
