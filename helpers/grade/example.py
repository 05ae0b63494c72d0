"""`python -m helpers.grade.example FOLDER [TASK …]`: a class of submissions to try grading with.

Each of them mixes solutions, stubs and wrong programs, as in a class where most have done most of
it. Only the edition with the solutions can make it.
"""

import argparse
import random
import shutil
import sys
from pathlib import Path

from helpers.grade.handin import pack
from helpers.grade.marks import find_regions, replace_regions
from helpers.grade.task import (
    ROOT,
    Program,
    Task,
    TaskError,
    load_module,
    load_task,
    task_ids,
    tasks_of,
)
from helpers.grade.words import why_not

SHARES = {"right": 0.65, "wrong": 0.25, "undone": 0.1}


def programs_of(task: Task) -> list[Program]:
    """The work in tasks/programs for a task. Raises TaskError in the student edition."""
    lab = task.id.rpartition("-")[0].lower().replace("-", "_")
    path = ROOT / "tasks" / "programs" / f"{lab}.py"
    if not path.is_file():
        raise TaskError(f"there is no {path}: only the edition with solutions has wrong programs")
    programs = load_module(path, f"programs_{lab}").PROGRAMS
    return [program for program in programs if program.task == task.id]


def planted(task: Task, work: str | dict[str, str], text: str) -> str:
    """Return the text of the task's file with other work in the place of its solution.

    work: as in `Program`. Raises ValueError where the solution lacks a piece that would change.
    """
    changes = {} if isinstance(work, str) else work
    solution = "\n".join(r.body for r in find_regions(text, task.file) if r.task == task.id)
    for old in changes:
        if old not in solution:
            raise ValueError(f"the solution of {task.id} has no {old!r}")

    def new(region):
        if region.task != task.id:  # which may still be asked for: the marks stay
            mark = "SOLUTION"
            return f"# BEGIN {mark} {region.task}\n{region.body}\n# END {mark}"
        body = work if isinstance(work, str) else region.body
        for old, changed in changes.items():
            body = body.replace(old, changed)
        return body

    return replace_regions(text, new, task.file)


def submission(tasks: list[Task], draw: random.Random) -> dict[str, str]:
    """The files of one submission: name -> text."""
    files = {task.file: (ROOT / task.file).read_text(encoding="utf-8") for task in tasks}
    for task in tasks:
        (how,) = draw.choices(list(SHARES), SHARES.values())
        if how != "right":
            wrong = [program.work for program in programs_of(task) if program.says]
            work = task.stub() if how == "undone" else draw.choice(wrong)
            files[task.file] = planted(task, work, files[task.file])
    return files


def main(arguments: list[str] | None = None) -> int:
    """0 if it was written, 2 for wrong arguments."""
    parser = argparse.ArgumentParser(
        prog="python -m helpers.grade.example", description="Make a class of submissions."
    )
    parser.add_argument("folder", type=Path, help="the folder to write; it must be new")
    parser.add_argument("tasks", nargs="*", help="tasks, labs or lessons; all by default")
    parser.add_argument("--count", type=int, default=40, help="how many submissions (40)")
    options = parser.parse_args(arguments)
    try:
        if options.count < 1:
            raise TaskError(f"--count must be at least 1, not {options.count}")
        if options.folder.exists():
            raise TaskError(f"{options.folder} exists already: name a new folder")
        ids = tasks_of(options.tasks) if options.tasks else task_ids()
        tasks = [load_task(task_id).task for task_id in ids]
        for number in range(1, options.count + 1):
            here = options.folder / f"student-{number:02d}"
            for name, text in submission(tasks, random.Random(number)).items():
                (here / name).parent.mkdir(parents=True, exist_ok=True)
                (here / name).write_text(text, encoding="utf-8")
            if number % 4 == 0:  # some hand in a zip
                here.with_suffix(".zip").write_bytes(pack(here, tasks)[0])
                shutil.rmtree(here)
    except (ValueError, OSError) as error:
        print(f"no class was made in {options.folder}: {why_not(error)}", file=sys.stderr)
        return 2
    print(f"{options.count} submissions of {', '.join(ids)} in {options.folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
