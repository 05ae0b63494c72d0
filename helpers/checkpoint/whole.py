"""Is a checkpoint whole, and are its bytes those that were written?"""

import json
import re
import zlib
from pathlib import Path

from helpers.checkpoint.errors import CURE, CheckpointError

FACTS = "checkpoint.json"
FORMAT = 1
RANK_FILE = re.compile(r"__(\d+)_\d+\.distcp")


def why_not_whole(path: Path) -> str | None:
    """What is missing in a checkpoint, or None."""
    try:
        facts = read_facts(path)
    except CheckpointError as error:
        return str(error)
    for name, size in facts["files"].items():
        found = path / name
        if not found.is_file():
            return f"{_what(name)} is missing; {CURE}"
        if found.stat().st_size != size:
            return f"{_what(name)} has {found.stat().st_size} bytes of {size}; {CURE}"
    return None


def why_not_the_same(path: Path, first: int, ranks: int) -> str | None:
    """Which file holds other bytes than were written, or None.

    Every file is read, so the ranks share the work: this one takes files `first`, first + ranks, …
    """
    sums = read_facts(path)["sums"]
    for name in sorted(sums)[first::ranks]:
        if sum_of(path / name) != sums[name]:
            return f"{_what(name)} holds other bytes than were written; {CURE}"
    return None


def sums_of(draft: Path, rank: int) -> dict[str, int]:
    """Of each file that this rank has written, by its name, the sum of its bytes."""
    mine = [*draft.glob(f"__{rank}_*"), *(draft.glob(".metadata") if rank == 0 else ())]
    return {file.name: sum_of(file) for file in mine}


def sum_of(file: Path) -> int:
    """CRC-32 of a file: it changes where bytes were lost or turned."""
    found = 0
    with open(file, "rb") as stream:
        while piece := stream.read(1 << 20):
            found = zlib.crc32(piece, found)
    return found


def _what(name: str) -> str:
    part = RANK_FILE.fullmatch(name)
    return f"{name}, what rank {part[1]} wrote," if part else name


def read_facts(path: Path) -> dict:
    """What stands in a checkpoint's `checkpoint.json`. Raises CheckpointError."""
    try:
        facts = json.loads((path / FACTS).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise CheckpointError(f"{FACTS}, which is written last, is missing; {CURE}") from None
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{FACTS} cannot be read ({error})") from None
    if facts.get("format") != FORMAT:
        raise CheckpointError(
            f"{FACTS} has format {facts.get('format')!r} and this program reads {FORMAT}: load it "
            "with the version that wrote it"
        )
    return facts
