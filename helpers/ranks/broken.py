"""What gloo says when a message doesn't come or a connection breaks, as a sentence.

gloo names a file of its own and an address. The traceback says more: its frames hold the call that
failed, with the rank that it named, and the line of the program.
"""

import re
import sys
import traceback
from pathlib import Path

from helpers.hang.calls import NoSuchRank
from helpers.hang.operation import Operation
from helpers.hang.places import locate
from helpers.plain_errors import TELLERS, WRAPPERS
from helpers.ranks.watch import Call, say, whom
from helpers.words import say_seconds

GLOO = re.compile(r"\[\S+\.cc:\d+\] ")  # its own file and line, with which each error begins
LATE = re.compile(r"(?:Timed out waiting|wait timeout after) (\d+)ms")
# What torch says on a rank whose partner has gone: the echo of a failure, not its cause.
ECHOES = (
    "connection closed by peer",
    "connection reset by peer",
    "connection refused",
    "broken pipe",
    "socket closed",
    "remote process exited",
    "connection was likely closed",
)
CURE = "Where it may be a deadlock, LAB_CHECKED=1 explains it, and so does python -m helpers.ranks"


def tell_broken_messages(rank: int) -> None:
    """Tell such errors from now on: in `plain_errors`, and below the traceback of any program."""

    def tell(error: BaseException) -> str | None:
        return sentence(error, rank)

    TELLERS[:] = [tell]
    if not getattr(sys.excepthook, "tells_gloo", False):
        shown = sys.excepthook

        def show(kind, error, trace) -> None:
            shown(kind, error, trace)
            if missed := next((text for tell in TELLERS if (text := tell(error))), None):
                say(missed)

        show.tells_gloo = True
        sys.excepthook = show


def sentence(error: BaseException, rank: int) -> str | None:
    """Return which message rank `rank` missed, and at which line; None for any other error."""
    text = str(error)
    if not _of_torch(error, text):
        return None
    late = LATE.search(text)
    if not late and not any(echo in text.lower() for echo in ECHOES):
        return None
    frames = traceback.extract_tb(error.__traceback__)
    where = locate([(f.filename, f.lineno or 0, f.name) for f in frames]).phrase
    try:
        operation = _failed(error, rank)
    except NoSuchRank as mistake:
        return f"{mistake}{where}"
    who = whom(operation)
    doing = f"rank {rank} {operation.doing}" if operation else f"rank {rank} waits inside torch"
    if not late:
        return (
            f"the connection to {who} broke: {doing}{where}. That rank has ended, or the network "
            "between them is down: read what it said last"
        )
    taken = operation and operation.sends
    missed = f"{who} took no message" if taken else f"no message came from {who}"
    seconds = say_seconds(int(late.group(1)) / 1000)
    return f"{missed} within {seconds}: {doing}{where}. {CURE}"


def _of_torch(error: BaseException, text: str) -> bool:
    """Return whether an error comes from gloo, or from the store of all ranks."""
    import torch.distributed as dist

    gloo = isinstance(error, RuntimeError) and GLOO.match(text)
    return bool(gloo) or isinstance(error, dist.DistError)


def _failed(error: BaseException, rank: int) -> Operation | None:
    """Return the operation that failed: what recorded it stands in a frame of the traceback."""
    for frame, _ in traceback.walk_tb(error.__traceback__):
        if Path(frame.f_code.co_filename) in WRAPPERS:
            found = frame.f_locals
            if isinstance(call := found.get("call"), Call):
                return call.operation(rank)
            if isinstance(operation := found.get("operation"), Operation):
                return operation  # in checked mode
    return None
