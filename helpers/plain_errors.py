"""Errors for a person at a terminal: the sentence, without the inside of the library."""

import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
EXPECTED = (ValueError, TypeError, OSError, ImportError, ArithmeticError, RuntimeError)


@contextmanager
def plain_errors() -> Iterator[None]:
    """End the program with one sentence where this lab's own library refused something.

    An error that was raised elsewhere (a mistake in the script itself, or in torch) keeps its
    traceback.  LAB_TRACEBACK=1 shows every traceback.
    """
    try:
        yield
    except EXPECTED as error:
        if "LAB_RANK" in os.environ or "LAB_TRACEBACK" in os.environ or not _is_ours(error):
            raise
        sys.stdout.flush()
        sys.exit(f"error: {error}")


def _is_ours(error: BaseException) -> bool:
    """Whether the line that raised the error stands in `helpers` or `simplellm`."""
    frames = traceback.extract_tb(error.__traceback__)
    innermost = Path(frames[-1].filename)
    return any(innermost.is_relative_to(ROOT / room) for room in ("helpers", "simplellm"))
