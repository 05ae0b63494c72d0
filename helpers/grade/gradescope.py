"""`python -m helpers.grade.gradescope LAB`: an autograder for Gradescope, as a zip to upload.

It holds this lab without lessons and scripts, and two programs that Gradescope runs: `setup.sh`
once, and `run_autograder` for each submission, which calls `--run` and so writes what `--json`
prints as results.json: before anything runs and again after each task, so that a grading that is
stopped still reports what it has found.
"""

import argparse
import json
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from helpers.files import write_whole
from helpers.grade import sandbox
from helpers.grade.folder import Content, zip_of
from helpers.grade.many import grade_one
from helpers.grade.student import scripts_of
from helpers.grade.task import (
    ANSWERS,
    PACKED,
    ROOT,
    SOLUTIONS,
    Task,
    TaskError,
    load_task,
    tasks_of,
)
from helpers.grade.tracked import MARKER, tracked_files
from helpers.grade.verdict import Verdict
from helpers.grade.words import why_not

TAKEN = ("helpers/", "simplellm/", "tasks/", "gpt2/", "puzzles/", "tools/install.py")
TAKEN += ("pyproject.toml", "constraints.txt", "LICENSE")
USER = "nobody"  # as whom work runs where the container allows no sandbox
GIGABYTES = 3.0
SETUP = """#!/usr/bin/env bash
# Gradescope runs this once, as root, when it builds the image.
set -euo pipefail
cd /autograder/source/lab
apt-get update -qq
apt-get install -qq -y --no-install-recommends bubblewrap python3 python3-venv
python=python3
if ! python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
    apt-get install -qq -y --no-install-recommends python3.11 python3.11-venv
    python=python3.11
fi
LAB_TORCH=cpu "$python" tools/install.py
"""
RUN = """#!/usr/bin/env bash
# Gradescope runs this for each submission.
set -uo pipefail
cd /autograder/source/lab
OMP_NUM_THREADS=1 LAB_PROGRESS=off .venv/bin/python -m helpers.grade.gradescope --run /autograder {}
"""


def autograder_zip(names: Sequence[str]) -> bytes:
    """The zip for the tasks, labs or lessons that `names` names. Raises TaskError."""
    ids = tasks_of(names)
    if (ROOT / MARKER).exists():
        raise TaskError("the student edition can't make an autograder: use the one with solutions")
    programs = {"setup.sh": SETUP, "run_autograder": RUN.format(" ".join(ids))}
    files = {name: Content(text.encode(), executable=True) for name, text in programs.items()}
    names = tracked_files(ROOT)[0]
    taken = [name for name in names if name.startswith(TAKEN)]
    files |= {f"lab/{name}": Content((ROOT / name).read_bytes()) for name in taken}
    data = {n: (ROOT / n).read_bytes() for n in names if n.endswith(".py")}
    packed = zip_of({SOLUTIONS: scripts_of(data, [load_task(i).task.file for i in ids])})
    files[f"lab/tasks/{PACKED}"] = Content(packed)
    return zip_of(files)


def run(place: Path, ids: Sequence[str]) -> dict:
    """Grade what is in `place`/submission; write and return the results.

    Whatever happens, the results say so: Gradescope shows a student nothing else.
    """
    tasks = [load_task(task_id).task for task_id in ids]
    verdicts: list[Verdict] = []
    (place / "results").mkdir(exist_ok=True)

    def save(note: str = "") -> dict:
        facts = results(tasks, [v.as_dict() for v in verdicts], note)
        write_whole(place / "results" / "results.json", json.dumps(facts, indent=1) + "\n")
        return facts

    def done(verdict: Verdict) -> None:
        verdicts.append(verdict)
        save()

    save()
    user = USER if sandbox.why_not() and hasattr(os, "getuid") and os.getuid() == 0 else ""
    if user:
        close_to_others(place)
    try:
        work = place / "submission"
        grades = grade_one(work, ids, done=done, gigabytes=GIGABYTES, user=user)
        verdicts[:] = grades.graded[0].verdicts.values()
    except Exception as error:  # of the submission, or of this machine
        return save(f"The work could not be graded: {why_not(error)}")
    return save()


def close_to_others(place: Path, root: Path = ROOT) -> None:
    """Take from all other users what work must not see or change: solutions, tasks, results."""
    closed = [place / "results", place / "submission_metadata.json"]
    closed += [root / "tasks" / ANSWERS, root / "tasks" / PACKED]
    closed += sorted((root / "tasks").glob("[!_]*.py"))
    scripts = [path for name in ("gpt2", "puzzles") for path in (root / name).rglob("*.py")]
    closed += [path for path in scripts if b"BEGIN SOLUTION" in path.read_bytes()]
    for path in closed:
        if path.exists():
            path.chmod(0o700)


def results(tasks: Iterable[Task], verdicts: Iterable[dict], note: str = "") -> dict:
    """What Gradescope reads: a test for each task, also for one that has no verdict (yet)."""
    stopped = {"points": 0, "passed": False, "reason": "not graded: the grading stopped before it"}
    found = {v["task"]: v for v in verdicts}
    tests = [
        {"name": f"{task.id}: {task.title}", "score": v["points"], "max_score": task.points,
         "status": "passed" if v["passed"] else "failed", "output": v["reason"] or "passed",
         "output_format": "text"}
        for task in tasks for v in [found.get(task.id, stopped)]
    ]  # fmt: skip
    facts = {"score": sum(test["score"] for test in tests), "tests": tests}
    return facts | {"stdout_visibility": "hidden"} | ({"output": note} if note else {})


def main(arguments: list[str] | None = None) -> int:
    """Return 0, or 2 for wrong arguments."""
    parser = argparse.ArgumentParser(
        prog="python -m helpers.grade.gradescope", description="Make an autograder for Gradescope."
    )
    parser.add_argument("tasks", nargs="+", metavar="TASK", help="a lab (DP), a lesson, a task")
    parser.add_argument("--run", type=Path, metavar="FOLDER", help="grade: run_autograder does it")
    options = parser.parse_args(arguments)
    try:
        if options.run:
            print(run(options.run, tasks_of(options.tasks))["score"], "points")
            return 0
        out = ROOT / "build" / "gradescope" / f"{'-'.join(options.tasks).upper()}.zip"
        write_whole(out, autograder_zip(options.tasks))
    except (ValueError, OSError) as error:
        print(why_not(error), file=sys.stderr)
        return 2
    print(f"{out}: upload it under Configure Autograder")
    return 0


if __name__ == "__main__":
    sys.exit(main())
