"""The record of what a person has done: kept through updates, never in the way.

It is a file of the user's own, outside of this folder, so that an update or a new clone loses
nothing. LAB_PROGRESS names another file; LAB_PROGRESS=off keeps none.
"""

import datetime
import json
import os
import sys
from pathlib import Path

from helpers.files import write_whole
from helpers.grade.verdict import Verdict

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


def read_record(path: Path | None) -> dict[str, dict]:
    """What is known of each task: {"DP-1": {"tries": 3, "passed": "2026-01-31"}}."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))["tasks"]
        return {
            str(task_id): {"tries": int(facts["tries"]), "passed": facts.get("passed")}
            for task_id, facts in record.items()
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}  # no record yet, or one that somebody has broken: start a new one


def remember(verdict: Verdict, path: Path | None = None) -> None:
    """Note a verdict. A task that has passed stays passed; what cannot be written is let go.

    Not while lessons are built or tests run: that is nobody's progress.
    """
    if os.environ.get("LAB_STATIC") == "1" or verdict.kind in ("not done", "no file"):
        return
    path = path or progress_file()
    if path is None:
        return
    record = read_record(path)
    facts = record.setdefault(verdict.task.id, {"tries": 0, "passed": None})
    facts["tries"] += 1
    if verdict.passed and not facts["passed"]:
        facts["passed"] = datetime.date.today().isoformat()
    try:
        write_whole(path, json.dumps({"tasks": record}, indent=1) + "\n")
    except OSError:
        pass  # a check must not fail because a home cannot be written
