"""What a lesson remembers of a person in `helpers.record`: tasks, predictions, answers."""

import datetime
import os
from pathlib import Path

from helpers.grade.task import Task
from helpers.grade.verdict import Verdict
from helpers.record import note, noted, progress_file, read_all, write

LONGEST = 240  # minutes: what took longer wasn't one sitting


def read_record(path: Path | None) -> dict[str, dict]:
    """What is known of each task: {"DP-1": {"tries": 3, "passed": "2026-01-31"}}."""
    try:
        return {
            task_id: {"tries": int(facts["tries"]), "passed": facts.get("passed")}
            for task_id, facts in read_all(path).get("tasks", {}).items()
        }
    except Exception:
        return {}


def note_prediction(question: str, chosen: str, right: bool | None = None) -> None:
    """Remember a choice; right: whether it was, once that has been revealed."""
    note("predictions", question, {"chosen": chosen, "right": right})


def note_answer(question: str, right: bool) -> None:
    """Remember a try at a number."""
    tries = noted("numbers").get(question, {}).get("tries", 0)
    note("numbers", question, {"tries": tries + 1, "right": right})


def note_skipped(task_id: str) -> None:
    """Remember that a task was skipped."""
    note("skipped", task_id, {"on": _now().date().isoformat()})


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
    write(path, everything | {"tasks": record, "times": times})


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
