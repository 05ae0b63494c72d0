"""The record in a checkpoint: is it whole, and are its bytes those that were written?

`checkpoint.json` holds the size and the sum of every other file, and a sum of its own content. Its
text follows from that content, so any bit that has turned in it is found.
"""

import hashlib
import json
import re
import zlib
from pathlib import Path

from helpers.checkpoint.errors import CURE, CheckpointError

FACTS = "checkpoint.json"
FORMAT = 2  # 1 had no sum of its own
RANK_FILE = re.compile(r"__(\d+)_\d+\.distcp")


def name_of(step: int) -> str:
    """Return the name of a step's checkpoint in its folder."""
    return f"step-{step:08d}"


def text_of(facts: dict) -> str:
    """Return these facts as the text of `checkpoint.json`, with a sum of them as the last one."""
    facts = json.loads(json.dumps(facts))  # as they will be read: JSON knows no tuples
    found = hashlib.sha256(json.dumps(facts).encode()).hexdigest()
    return json.dumps(facts | {"sum": found}, indent=1)


def read_facts(path: Path) -> dict:
    """Read a checkpoint's `checkpoint.json`.

    Raises:
        CheckpointError: it is missing, damaged, or that of another step or format.
    """
    changed = f"{FACTS} holds other bytes than were written; {CURE}"
    try:
        text = (path / FACTS).read_bytes().decode()
        facts = json.loads(text)
        same = isinstance(facts, dict) and text_of(
            {key: value for key, value in facts.items() if key != "sum"}
        )
    except FileNotFoundError:
        raise CheckpointError(f"{FACTS}, which is written last, is missing; {CURE}") from None
    except OSError as error:
        raise CheckpointError(f"{FACTS} cannot be read ({error.strerror}); {CURE}") from None
    except (ValueError, RecursionError):
        raise CheckpointError(changed) from None
    found = facts.get("format") if isinstance(facts, dict) else None
    if isinstance(found, int) and found != FORMAT:
        raise CheckpointError(
            f"{FACTS} has format {found} and this version reads format {FORMAT}; load it with the "
            "version that wrote it"
        )
    if same != text:
        raise CheckpointError(changed)
    if path.name != name_of(facts["step"]):
        raise CheckpointError(
            f"{FACTS} is that of step {facts['step']}; rename the folder {name_of(facts['step'])}"
        )
    return facts


def facts_of_whole(path: Path) -> dict:
    """Read the facts of a checkpoint whose files are all there, each with the size it had.

    Raises:
        CheckpointError: what is missing.
    """
    facts = read_facts(path)
    for name, (size, _) in facts["files"].items():
        try:
            found = (path / name).stat().st_size
        except OSError:
            raise CheckpointError(f"{_what(name)} is missing; {CURE}") from None
        if found != size:
            raise CheckpointError(f"{_what(name)} has {found} bytes of {size}; {CURE}")
    return facts


def why_not_whole(path: Path) -> str | None:
    """Return what is missing in a checkpoint, or None."""
    try:
        facts_of_whole(path)
    except CheckpointError as error:
        return str(error)
    return None


def why_not_the_same(path: Path, files: dict, first: int, ranks: int) -> str | None:
    """Return which of a checkpoint's files holds other bytes than were written, or None.

    Every file is read, so the ranks share the work: this one takes files `first`, first + ranks, …
    """
    for name in sorted(files)[first::ranks]:
        if sum_of(path / name) != files[name][1]:
            return f"{_what(name)} holds other bytes than were written; {CURE}"
    return None


def files_of(draft: Path, rank: int) -> dict[str, tuple[int, int]]:
    """Return the size and the sum of each file that this rank has written, by its name."""
    mine = [*draft.glob(f"__{rank}_*"), *(draft.glob(".metadata") if rank == 0 else ())]
    return {file.name: (file.stat().st_size, sum_of(file)) for file in mine}


def sum_of(file: Path) -> int:
    """Return the CRC-32 of a file, which any turned bit changes."""
    found = 0
    with open(file, "rb") as stream:
        while piece := stream.read(1 << 20):
            found = zlib.crc32(piece, found)
    return found


def _what(name: str) -> str:
    part = RANK_FILE.fullmatch(name)
    return f"{name}, what rank {part[1]} wrote," if part else name
