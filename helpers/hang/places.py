"""Where code is, the innermost line that the student wrote; and what the threads of a rank do."""

import linecache
import re
import signal
import sys
import sysconfig
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import FrameType
from typing import NamedTuple

Frame = tuple[str, int, str]  # file, line, function
NOWHERE: Frame = ("", 0, "")
CELLS: dict[str, str] = {}  # file name -> what to call it, "cell [7]", for cells of a notebook
OURS = "lab "  # how the names of our own threads begin


class Where(NamedTuple):
    """A place in the student's code: " at line 4 of cell [7], in train", and the line itself."""

    phrase: str = ""
    line: str = ""
    frame: Frame = NOWHERE


def locate(frames: Sequence[Frame]) -> Where:
    """Return the innermost frame in the student's own code. frames: the outermost first."""
    mine = [f for f in frames if f[0] in CELLS or not is_library(f[0])]
    if not mine:
        return Where()
    name, number, function = mine[-1]
    inside = f", in {function}" if function not in ("", "<module>") else ""
    source = linecache.getline(name, number).rstrip()
    line = f"  {number:>4} | {source}" if source.strip() else ""
    return Where(f" at line {number} of {CELLS.get(name, Path(name).name)}{inside}", line, mine[-1])


def stack(frame: FrameType | None) -> list[Frame]:
    """Return file, line and function of every frame of a thread, the outermost first."""
    frames = []
    while frame is not None:  # traceback.extract_stack also reads the files, which is slow
        frames.append((frame.f_code.co_filename, frame.f_lineno or 0, frame.f_code.co_name))
        frame = frame.f_back
    return frames[::-1]


def caller(frame: FrameType) -> Frame:
    """Return the student's innermost frame, from `frame` outward, or else the outermost."""
    while frame.f_back and is_library(frame.f_code.co_filename):
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno or 0, frame.f_code.co_name


@cache
def is_library(name: str) -> bool:
    """Return whether a file belongs to Python, an installed package, or this project."""
    if not name or name.startswith("<"):
        return not name.startswith("<cell")  # a cell that runs on ranks
    return str(Path(name)).startswith(_libraries())


@cache
def _libraries() -> tuple[str, ...]:
    home, paths = Path(__file__).resolve().parents[2], sysconfig.get_paths()
    library = [paths[key] for key in ("stdlib", "platstdlib", "purelib", "platlib")]
    library += [str(home / name) for name in ("helpers", "simplellm", "tasks")]
    return (*library, sys.base_prefix + "/lib/python")


# --- threads -------------------------------------------------------------------------------------


def threads_of_program() -> dict[int, FrameType]:
    """Return the innermost frame of each thread of the program, by the thread's number.

    Among them are callbacks of C++ while they run Python; left out are ours, and a progress bar's.
    """
    frames = sys._current_frames()
    del frames[threading.get_ident()]
    for thread in threading.enumerate():
        if thread.name.startswith(OURS) or type(thread).__module__.partition(".")[0] == "tqdm":
            frames.pop(thread.ident, None)
    return frames


def handles_signals() -> bool:
    """Return whether a signal would run code of the program: in the main thread, between lines."""
    handlers = [signal.getsignal(number) for number in signal.valid_signals()]
    return any(callable(own) and own is not signal.default_int_handler for own in handlers)


def serves_calls() -> bool:
    """Return whether other ranks may run code in this process, by torch.distributed.rpc."""
    rpc = sys.modules.get("torch.distributed.rpc")
    with suppress(RuntimeError):  # it was never begun, or has been shut down
        return bool(rpc and rpc.is_available() and rpc.get_worker_info())
    return False


def time_used(ident: int) -> int:
    """Return the processor time of a thread in ms: it grows while the thread computes."""
    with suppress(AttributeError, OSError):  # not on every system
        return int(1e3 * time.clock_gettime(time.pthread_getcpuclockid(ident)))
    return 0


# while not work.is_completed(), or not all(work.is_completed() for work in works), and a body that
# passes the time, in the same line or alone in the next
POLLS = re.compile(
    r"( *)while not ([\w.\[\]-]+\.is_completed\(\)"
    r"|all\(\[?\(?(\w+)\.is_completed\(\) for \3 in [\w.\[\]-]+\)?\]?\)):\s+"
    r"(pass|continue|(\w+\.)?sleep\([\w.]+\)) *(\n(?!\1 )|\Z)"
)


def only_polls(frames: Sequence[Frame], asked: Frame) -> bool:
    """Return whether a thread, at `frames`, is in a loop that only polls, as it did at `asked`.

    Such a loop waits as work.wait() does; one that also counts its rounds may end in another way.
    """
    mine = [f for f in frames if f[0] == asked[0] or not is_library(f[0])]
    if not mine or (mine[-1][0], mine[-1][1] - asked[1]) not in ((asked[0], 0), (asked[0], 1)):
        return False
    return bool(POLLS.match("".join(linecache.getlines(asked[0])[asked[1] - 1 : asked[1] + 2])))
