"""Errors for a person at a terminal: one sentence instead of a traceback."""

import os
import re
import sys
import sysconfig
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from helpers.clone import ROOT

LIBRARY = Path(sysconfig.get_path("stdlib")).resolve()
PACKAGES = Path(sysconfig.get_path("purelib")).resolve()
EXPECTED = (ValueError, TypeError, OSError, ImportError, ArithmeticError, RuntimeError, MemoryError)
# What else can tell an error in a sentence; each returns None for one that it doesn't know.
TELLERS: list[Callable[[BaseException], str | None]] = []
# This wraps functions of torch, so an error that only comes through it is torch's.
WRAPPER = ROOT / "helpers/hang/monitor.py"
# What torch says on a rank whose partner has gone: the echo of a failure, not its cause.
ECHOES = re.compile(
    "connection (closed by peer|reset by peer|refused|was likely closed)|broken pipe|socket closed"
    "|remote process exited",
    re.IGNORECASE,
)
BROKE = (
    "the connection to {whom} broke{doing}. That rank has ended, or the network between them is "
    "down: read what it said last"
)


@contextmanager
def plain_errors() -> Iterator[None]:
    """End the program with one sentence where the project refused something.

    A mistake in the code itself, or in torch, keeps its traceback, and LAB_TRACEBACK=1 shows every
    traceback. Inside a rank that our own launcher started the error goes on to the launcher, which
    says which rank it was.
    """
    try:
        yield
    except EXPECTED as error:
        sentence = sentence_of(error)
        if "LAB_RANK" in os.environ or "LAB_TRACEBACK" in os.environ or sentence is None:
            raise
        sys.stdout.flush()
        sys.exit(f"error: {sentence}")


def sentence_of(error: BaseException) -> str | None:
    """Return what to tell a person, or None if the error is a mistake in the code."""
    memory = isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError"
    if memory or "can't allocate memory" in str(error):  # Python's, torch's on a GPU, on a CPU
        return "there is not enough memory for these sizes: choose smaller ones"
    for tell in TELLERS:
        if text := tell(error):
            return text
    if isinstance(error, RuntimeError) and is_echo(str(error)):  # inside C++, as in DDP's backward
        return BROKE.format(whom="another rank", doing=", inside torch")
    frames = [(f, _home(f.filename)) for f in traceback.extract_tb(error.__traceback__)]
    own = [(frame, home) for frame, home in frames if home != "python"]  # pathlib only passes it on
    frame, home = own[-1] if own else (None, None)
    if home not in ("library", "script", "wrapper"):
        return None
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename} cannot be used: {error.strerror}"
    if home == "library" or (frame.line or "").startswith("raise "):
        return str(error)
    return None


def _home(file: str) -> str:
    """Return whose file it is: "python", "elsewhere", or ours: "library" and so on."""
    if file.startswith("<"):
        return "python"
    path = Path(file).resolve()
    if path == WRAPPER:
        return "wrapper"
    # In this order: the project may be installed among the packages, and they may lie in a clone.
    if any(path.is_relative_to(ROOT / package) for package in ("helpers", "simplellm")):
        return "library"
    if path.is_relative_to(PACKAGES):
        return "package"
    if path.is_relative_to(LIBRARY):
        return "python"
    return "script" if path.is_relative_to(ROOT) else "elsewhere"


def is_echo(text: str) -> bool:
    """Return whether torch only says that a partner has gone."""
    return ECHOES.search(text) is not None
