"""Where documents come from: the hub's TinyStories, a text file; and how ranks share them."""

import importlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

HUB_NAME = "roneneldan/TinyStories"


def endless(
    read: Callable[[], Iterator[str]], rank: int, world_size: int, skip: int
) -> Iterator[str]:
    """Yield every world_size-th document of `read()` endlessly, starting again at its end.

    `skip` leaves out the first documents of this rank's part; a skip beyond the end continues
    from the beginning. Nothing is kept: `read` is called again for each pass.

    Raises:
        ValueError: A pass has no document for this rank.
    """
    while True:
        number = own = 0
        for number, text in enumerate(read(), 1):  # noqa: B007
            if (number - 1) % world_size == rank:
                own += 1
                if own > skip:
                    yield text
        if own == 0:
            raise ValueError(
                f"{world_size} ranks cannot share {number} documents: rank {rank} gets none."
            )
        # What is left to skip is less than one pass, so at most one pass yields nothing.
        skip = (skip - own) % own if skip > own else 0


def read_hub(split: str) -> Iterator[str]:
    """Yield the real TinyStories once, streamed: nothing is stored.

    Raises:
        ImportError: The package datasets is missing.
        ConnectionError: The hub could not be read. Nothing else replaces it.
    """
    try:
        datasets = importlib.import_module("datasets")
    except ImportError as error:
        raise ImportError(
            'source="hub" needs the package datasets, which is not installed here: run '
            '`python tools/install.py hub`, or take source="stories", which needs none.'
        ) from error
    try:
        for row in datasets.load_dataset(HUB_NAME, split=split, streaming=True):
            if row["text"].strip():
                yield row["text"].strip()
    except Exception as error:  # whatever the network, the hub or the package throws
        reason = str(error).strip().partition("\n")[0] or "no reason given"
        raise ConnectionError(
            f"The real TinyStories ({HUB_NAME}, {split}) could not be read from the hub "
            f'({type(error).__name__}: {reason}): check the network, or take source="stories", '
            "which needs none."
        ) from error


def read_documents(path: Path) -> Iterator[str]:
    """Yield the documents of a text file, which blank lines separate, one by one."""
    lines: list[str] = []
    with path.open(encoding="utf-8-sig") as file:
        for line in file:
            if line.strip():
                lines.append(line)
            elif lines:
                yield "".join(lines).rstrip("\n")
                lines = []
    if lines:
        yield "".join(lines).rstrip("\n")


def count_documents(path: Path) -> int:
    """Return how many documents a text file has. Raises as `TextFile` does."""
    if path.exists() and not path.is_file():
        raise ValueError(f'"{path}" is a folder or a device: give the path of a text file.')
    try:
        with path.open("rb") as file:
            _check_text(file, path)
        count = sum(1 for _ in read_documents(path))
    except FileNotFoundError as error:
        raise FileNotFoundError(f'There is no file "{path}": check the path.') from error
    except PermissionError as error:
        raise PermissionError(f'"{path}" may not be read: change its permissions.') from error
    if count == 0:
        raise ValueError(f'"{path}" is empty: there is no text to read in it.')
    return count


def _check_text(file: BinaryIO, path: Path) -> None:
    for number, line in enumerate(file, 1):
        try:
            if b"\0" in line:
                raise ValueError
            line.decode("utf-8")
        except ValueError:
            raise ValueError(
                f'"{path}" is not UTF-8 text (line {number}): save it as UTF-8 in the editor, and '
                "try again."
            ) from None
