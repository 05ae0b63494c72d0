"""The record of what a person has done: kept through updates, never in the way.

It is a file of the user's own, outside of this folder, so that an update or a new clone loses
nothing. LAB_PROGRESS names another file; LAB_PROGRESS=off keeps none.
"""

import datetime
import json
import os
import re
import sys
from pathlib import Path

from helpers.files import write_whole
from helpers.grade.task import Task
from helpers.grade.verdict import Verdict

NAME = "distributed-ml-lab"
MARK = re.compile(r"^\s*#\s*BEGIN SOLUTION\s+(\S+)\s*$", re.MULTILINE)


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
    except Exception:
        return {}  # no record yet, or one that somebody has broken: start a new one


def holds_solution(root: Path, task: Task) -> bool:
    """Whether the task's file below `root` has the marks of the edition with solutions."""
    try:
        text = (root / task.file).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return task.id in MARK.findall(text)


def remember(verdict: Verdict, path: Path | None = None, root: Path | None = None) -> None:
    """Note a verdict. A task that has passed stays passed; what cannot be written is let go.

    root: what was graded, where it is known. A file that came with its solution is nobody's work,
    and is not noted. Nor is anything while lessons are built or tests run.
    """
    if os.environ.get("LAB_STATIC") == "1" or verdict.kind in ("not done", "no file"):
        return
    if root is not None and holds_solution(root, verdict.task):
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
