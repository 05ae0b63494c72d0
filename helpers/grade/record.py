"""The record of what a person has done: kept through updates, never in the way.

It is a file of the user's own, outside of this folder, so that an update or a new clone loses
nothing. LAB_PROGRESS names another file; LAB_PROGRESS=off keeps none.
"""

import datetime
import functools
import json
import os
import sys
from pathlib import Path

from helpers.files import write_whole
from helpers.grade.task import Task
from helpers.grade.verdict import Verdict

NAME = "distributed-ml-lab"
LONGEST = 240  # minutes: what took longer wasn't one sitting


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
        return {str(k): v for k, v in record.items() if isinstance(v, dict)}
    except Exception:
        return {}  # no record yet, or one that somebody has broken: start a new one


def read_record(path: Path | None) -> dict[str, dict]:
    """What is known of each task: {"DP-1": {"tries": 3, "passed": "2026-01-31"}}."""
    try:
        return {
            task_id: {"tries": int(facts["tries"]), "passed": facts.get("passed")}
            for task_id, facts in read_all(path).get("tasks", {}).items()
        }
    except Exception:
        return {}


def minutes_of(record: object) -> dict[str, int]:
    """Return {task: minutes} of a record that somebody else has written: those of one sitting."""
    found = {key: _fact(facts, "minutes") for key, facts in _kind(record, "times").items()}
    return {key: most for key, most in found.items() if type(most) is int and 0 < most <= LONGEST}


def chosen_in(record: object) -> dict[str, str]:
    """Return {question: what was chosen} of a record that somebody else has written."""
    found = {key: _fact(facts, "chosen") for key, facts in _kind(record, "predictions").items()}
    return {key: letter for key, letter in found.items() if isinstance(letter, str)}


def _kind(record: object, kind: str) -> dict:
    found = record.get(kind) if isinstance(record, dict) else None
    return found if isinstance(found, dict) else {}


def _fact(facts: object, name: str) -> object:
    return facts.get(name) if isinstance(facts, dict) else None


def noted(kind: str) -> dict[str, dict]:
    """What is remembered of one kind, here or by this process alone: {"L06-1": {"chosen": "B"}}.

    While lessons are built nothing is.
    """
    if os.environ.get("LAB_STATIC") == "1":
        return {}
    kept = read_all(progress_file()).get(kind, {})
    return {key: facts for key, facts in kept.items() if isinstance(facts, dict)} | _here()[kind]


def note_prediction(question: str, chosen: str, right: bool | None = None) -> None:
    """Remember a choice; right: whether it was, once that has been revealed."""
    _note("predictions", question, {"chosen": chosen, "right": right})


def note_answer(question: str, right: bool) -> None:
    """Remember a try at a number."""
    tries = noted("numbers").get(question, {}).get("tries", 0)
    _note("numbers", question, {"tries": tries + 1, "right": right})


def note_skipped(task_id: str) -> None:
    """Remember that a task was skipped."""
    _note("skipped", task_id, {"on": _now().date().isoformat()})


def note_level(level: str, best: float, helped: bool) -> None:
    """Remember the best seconds in a level of the schedule game, and whether they were helped."""
    _note("levels", level, {"best": best, "helped": helped})


@functools.cache
def _here() -> dict[str, dict]:
    """What this process has noted: where no record can be kept, a kernel remembers itself."""
    return {"predictions": {}, "numbers": {}, "skipped": {}, "levels": {}}


def _note(kind: str, key: str, facts: dict) -> None:
    if os.environ.get("LAB_STATIC") == "1":
        return
    _here()[kind][key] = facts
    path = progress_file()
    if path is not None:
        record = read_all(path)
        record.setdefault("tasks", {})
        record.setdefault(kind, {})[key] = facts
        _write(path, record)


def _write(path: Path, record: dict) -> None:
    try:
        write_whole(path, json.dumps(record, indent=1) + "\n")
    except OSError:
        pass  # a lesson must not fail because a home cannot be written


def holds_solution(root: Path, task: Task) -> bool:
    """Whether the task's file below `root` has the marks of the edition with solutions."""
    try:
        text = (root / task.file).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return f"# BEGIN SOLUTION {task.id}" in map(str.strip, text.splitlines())


def remember(verdict: Verdict, root: Path) -> None:
    """Note a verdict. A task that has passed stays passed; what can't be written is dropped.

    For a task that isn't done, note only when it was met, because its minutes count from there.

    root: what was graded. A file that came with its solution is nobody's work, and isn't noted.
    While lessons are built, nothing is.
    """
    if os.environ.get("LAB_STATIC") == "1" or verdict.kind == "no file":
        return
    if holds_solution(root, verdict.task):
        return
    path = progress_file()
    if path is None:
        return
    everything, record = read_all(path), read_record(path)
    times = everything.get("times", {})
    times[verdict.task.id] = _timed(times.get(verdict.task.id), verdict.passed)
    if verdict.kind != "not done":
        facts = record.setdefault(verdict.task.id, {"tries": 0, "passed": None})
        facts["tries"] += 1
        if verdict.passed and not facts["passed"]:
            facts["passed"] = _now().date().isoformat()
    _write(path, everything | {"tasks": record, "times": times})


def _now() -> datetime.datetime:
    """The local time with its offset: an hour counts once where clocks go back in between."""
    return datetime.datetime.now().astimezone()


def _timed(before: object, passed: bool) -> dict:
    """When a task was met, and how many minutes later it passed; None if not in one sitting."""
    now = _now()
    try:
        met = datetime.datetime.fromisoformat(before["met"]).astimezone()
        minutes = before["minutes"]
    except (TypeError, KeyError, ValueError, OverflowError):
        return {"met": now.isoformat(timespec="seconds"), "minutes": None}
    spent = round((now - met).total_seconds() / 60)
    if passed and minutes is None and 0 < spent <= LONGEST:
        minutes = spent
    return {"met": before["met"], "minutes": minutes}
