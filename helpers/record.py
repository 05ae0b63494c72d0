"""The record of what a person has done: one file of the user's own, which no update touches.

LAB_PROGRESS names another file; LAB_PROGRESS=off keeps none.
"""

import json
import os
import sys
from collections import defaultdict
from contextlib import suppress
from itertools import count
from pathlib import Path

from helpers.files import write_whole

# What this process has noted: where no record can be kept, a kernel remembers itself.
HERE: defaultdict[str, dict] = defaultdict(dict)


def progress_file() -> Path | None:
    """Return where the record is kept: where this system keeps a user's data; or None."""
    if chosen := os.environ.get("LAB_PROGRESS", ""):
        return None if chosen == "off" else Path(chosen)
    if os.name == "nt":
        folder = os.environ.get("APPDATA", "")
    elif sys.platform == "darwin":
        folder = os.path.expanduser("~/Library/Application Support")
    else:
        folder = os.environ.get("XDG_DATA_HOME", "") or os.path.expanduser("~/.local/share")
    found = Path(folder, "distributed-ml-lab", "progress.json")
    return found if os.path.isabs(folder) else None


def read_all() -> dict[str, dict]:
    """Return everything that is remembered, by kind: "tasks", "predictions", "numbers", …

    A damaged file is set aside under another name, and a sentence says so.
    """
    path, told = progress_file(), "it isn't a record"
    with suppress(OSError):
        try:
            record = json.loads(path.read_text("utf-8")) if path and path.exists() else {}
            parts = [facts for of in [record, *record.values()] for facts in of.values()]
            if all(isinstance(facts, dict) for facts in parts):
                return record
        except (ValueError, AttributeError, RecursionError) as error:
            told = error
        aside = next(p for n in count(1) if not (p := path.with_suffix(f".damaged{n}")).exists())
        path.rename(aside)
        print(f"{path} is damaged ({told}): it's {aside.name} now, and a new record begins.")
    return {}


def noted(kind: str) -> dict[str, dict]:
    """Return what is remembered of one kind: {"micro_batches-1": {"chosen": "B"}}.

    While lessons are built, nothing is.
    """
    if os.environ.get("LAB_STATIC") == "1":
        return {}
    return read_all().get(kind, {}) | HERE[kind]


def note(kind: str, key: str, facts: dict) -> None:
    """Remember facts of one kind, in the file and in this process."""
    if os.environ.get("LAB_STATIC") == "1":
        return
    HERE[kind][key] = facts
    if path := progress_file():
        record = read_all()
        record.setdefault(kind, {})[key] = facts
        with suppress(OSError):  # a lesson must not fail because a home can't be written
            write_whole(path, json.dumps(record, indent=1) + "\n")
