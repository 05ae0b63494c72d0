"""The record of what a person has done: kept through updates, never in the way.

It is a file of the user's own, outside of this folder, so that an update or a new clone loses
nothing. LAB_PROGRESS names another file; LAB_PROGRESS=off keeps none.
"""

import functools
import json
import os
import sys
from collections import defaultdict
from pathlib import Path

from helpers.files import write_whole

NAME = "distributed-ml-lab"


def progress_file() -> Path | None:
    """Where the record is kept: where this system keeps a user's data; None where nowhere."""
    chosen = os.environ.get("LAB_PROGRESS", "")
    if chosen:
        return None if chosen == "off" else Path(chosen)
    if os.name == "nt":
        folder = os.environ.get("APPDATA", "")
    elif sys.platform == "darwin":
        folder = os.path.expanduser("~/Library/Application Support")
    else:
        folder = os.environ.get("XDG_DATA_HOME", "") or os.path.expanduser("~/.local/share")
    return Path(folder, NAME, "progress.json") if folder and os.path.isabs(folder) else None


def read_all(path: Path | None) -> dict[str, dict]:
    """Everything that is remembered, by kind: "tasks", "times", "predictions", …"""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        return {str(kind): found for kind, found in record.items() if isinstance(found, dict)}
    except Exception:
        return {}  # no record yet, or one that somebody has broken: start a new one


def noted(kind: str) -> dict[str, dict]:
    """What is remembered of one kind, here or by this process alone.

    While lessons are built, nothing is.

    Returns:
        Such as {"micro_batches-1": {"chosen": "B"}}.
    """
    if os.environ.get("LAB_STATIC") == "1":
        return {}
    kept = read_all(progress_file()).get(kind, {})
    return {key: facts for key, facts in kept.items() if isinstance(facts, dict)} | _here()[kind]


def note(kind: str, key: str, facts: dict) -> None:
    """Remember facts of one kind, in the file and in this process."""
    if os.environ.get("LAB_STATIC") == "1":
        return
    _here()[kind][key] = facts
    path = progress_file()
    if path is not None:
        record = read_all(path)
        record.setdefault("tasks", {})
        record.setdefault(kind, {})[key] = facts
        write(path, record)


@functools.cache
def _here() -> defaultdict[str, dict]:
    """What this process has noted: where no record can be kept, a kernel remembers itself."""
    return defaultdict(dict)


def write(path: Path, record: dict) -> None:
    """Write everything that is remembered; where that can't be done, drop it."""
    try:
        write_whole(path, json.dumps(record, indent=1) + "\n")
    except OSError:
        pass  # a lesson must not fail because a home cannot be written
