"""What is said to a person who gave something that cannot work."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager


class WrongInput(ValueError):
    """One sentence: what was wrong, where, what to do."""


@contextmanager
def plain_words() -> Iterator[None]:
    """End the program with the sentence and code 2 where the input, or a file, was wrong."""
    try:
        yield
    except (WrongInput, OSError) as error:
        print(f"error: {error}", file=sys.stderr, flush=True)
        sys.exit(2)
