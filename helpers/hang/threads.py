"""The threads of a rank: which of them could still act, and which only wait for another.

A rank can be judged by one of its threads where all others wait for that one to end: as after the
end of a program, when Python waits for the threads that it has started, or in thread.join().
"""

import os
import sys
import threading
import time
from functools import cache
from types import FrameType

from helpers.hang.places import Frame

OURS = "agreement"  # the name of checked mode's own threads: they start what the program asked for


def of_program() -> dict[int, FrameType]:
    """The innermost frame of each thread of the program, by the thread's number.

    Threads that were started in C++ are among them while they run Python, as callbacks do. Checked
    mode's own threads are not, nor the thread that asks, nor a progress bar's, which sends nothing.
    """
    others = {
        thread.ident
        for thread in threading.enumerate()
        if thread.name.startswith(OURS) or type(thread).__module__.partition(".")[0] == "tqdm"
    }
    others.add(threading.get_ident())
    return {ident: frame for ident, frame in sys._current_frames().items() if ident not in others}


def name_of(ident: int) -> str:
    """The name of a thread; "" for the main thread."""
    if ident == threading.main_thread().ident:
        return ""
    thread = next((thread for thread in threading.enumerate() if thread.ident == ident), None)
    return thread.name if thread else "a thread of C++"


def able_to_act(threads: dict[int, FrameType], returned: bool) -> list[int]:
    """The threads that do more than wait for another one of them to end.

    returned: the main thread waits for all others.
    """
    able = [ident for ident, frame in threads.items() if _joined(frame) not in threads]
    main = threading.main_thread().ident
    return [ident for ident in able if not (returned and ident == main)]


def stack(frame: FrameType | None) -> list[Frame]:
    """File, line and function of every frame of a thread, the outermost first."""
    frames = []
    while frame is not None:  # traceback.extract_stack reads the files too: slow, and not needed
        frames.append((frame.f_code.co_filename, frame.f_lineno or 0, frame.f_code.co_name))
        frame = frame.f_back
    return frames[::-1]


def inside_torch(frames: list[Frame]) -> bool:
    """Whether a thread's Python has called into the parts of torch that wait for other ranks."""
    return bool(frames) and frames[-1][0].startswith(_parts_that_wait())


def time_used(ident: int) -> int:
    """The processor time of a thread, in ms: who computes uses some, and who waits does not."""
    try:
        return int(1e3 * time.clock_gettime(time.pthread_getcpuclockid(ident)))
    except (AttributeError, OSError):  # not on every system
        return 0


def _joined(frame: FrameType | None) -> int | None:
    """The thread for whose end a thread waits without a time limit; None if it doesn't."""
    while frame is not None and frame.f_code.co_filename == threading.__file__:
        if frame.f_code is threading.Thread.join.__code__ and frame.f_locals["timeout"] is None:
            return frame.f_locals["self"].ident
        frame = frame.f_back
    return None


@cache
def _parts_that_wait() -> tuple[str, ...]:
    import torch

    home = os.path.dirname(torch.__file__)
    return tuple(os.path.join(home, part, "") for part in ("autograd", "distributed", "nn"))
