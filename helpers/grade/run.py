"""Grade one task: one process, its limits, one verdict."""

import json
import secrets
import tempfile
import time
from pathlib import Path

from helpers.grade.copy import CopyError, copy_lab, copy_work
from helpers.grade.judges import Tail, start_judge
from helpers.grade.limits import Held, Limits
from helpers.grade.task import ROOT, TaskFile, load_task
from helpers.grade.verdict import Verdict

BACKSTOP_S = 45.0  # the check stops slow ranks itself, with the line; after this it is stopped too

# Bytes of a verdict: the judge's own limits on its texts (`judge.MOST`), at most 12 bytes each.
MOST_VERDICT = 1 << 20
SEEDS = 1 << 31  # a seed is folded into so many: torch and NumPy take no larger ones, nor below 0


def grade(
    task_id: str,
    root: Path | None = None,
    seconds: float | None = None,
    backstop: float = BACKSTOP_S,
    folder: Path | None = None,
    seed: int | None = None,
    gigabytes: float = Limits.gigabytes,
) -> Verdict:
    """Check one task in the repository at `root`, by default the one that contains this grader.

    The checks are those beside this grader, whatever tasks the graded repository holds; the work
    is a copy, so that nothing it does can change the original.
    seconds, gigabytes: the limits; by default the task's own time. folder: where the checks are.
    seed: what the inputs are made from, any whole number; by default drawn anew.
    Raises TaskError for an unknown task; everything that the work does wrong is a verdict.
    """
    folder = (folder or ROOT / "tasks").resolve()
    found = load_task(task_id, folder)
    limits = Limits(found.task.seconds if seconds is None else seconds, gigabytes)
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="grade-", ignore_cleanup_errors=True) as name:
        place = Path(name).resolve()
        try:
            copy_work((root or ROOT).resolve(), found.task, place / "work")
            copy_lab(found.task, place / "lab")
        except CopyError as error:
            return Verdict(found.task, "no file", str(error))
        order = {
            "task": found.task.id,
            "place": str(place),
            "checks": str(folder),
            "seed": secrets.randbelow(SEEDS) if seed is None else seed % SEEDS,
            "seconds": limits.seconds,
            "gigabytes": limits.gigabytes,
            "token": secrets.token_hex(16),
        }
        said, printed = _ask_judge(order, limits.seconds + backstop, found.task.libraries)
    return _verdict(found, said, printed, time.monotonic() - begun)


def _verdict(found: TaskFile, said: dict, printed: str, seconds: float) -> Verdict:
    limits = said.get("limits", {"held": {}, "open": []})
    return Verdict(
        task=found.task,
        kind=said["kind"],
        reason=said["sentence"],
        details=said["details"],
        printed=printed,
        seconds=seconds,
        limits=Held(limits["held"], limits["open"]),
        picture=tuple(said.get("picture", ())),
        look_at=tuple(said.get("look_at", ())),
    )


def _ask_judge(order: dict, seconds: float, libraries: tuple[str, ...]) -> tuple[dict, str]:
    """What the judge says, and what was printed meanwhile."""
    judge = start_judge(order["place"], libraries)
    answer, printed = Tail(judge.stdout, MOST_VERDICT), Tail(judge.stderr)
    try:
        try:
            judge.stdin.write(json.dumps(order).encode())
            judge.stdin.close()
        except BrokenPipeError:
            pass  # it ended at once: its last words say why
        status = judge.wait(seconds)
    finally:
        judge.end()
    text, said = printed.text(), _read(answer.text(), order["token"])
    if said:
        return said, text
    if status is None:
        return _no_verdict(
            "time-out", f"the check did not end within {seconds:g} s, and was stopped"
        ), text
    sentence = f"the check ended with exit status {status} before it had a verdict"
    return _no_verdict("no verdict", sentence), text


def _no_verdict(kind: str, sentence: str) -> dict:
    return {"kind": kind, "sentence": sentence, "details": ""}


def _read(text: str, token: str) -> dict | None:
    """The verdict, or None where there is none that carries the token."""
    try:
        verdict = json.loads(text)
        if verdict["token"] != token:
            return None
        return {"kind": verdict["kind"], "sentence": verdict["sentence"], **verdict}
    except (ValueError, KeyError, TypeError):
        return None
