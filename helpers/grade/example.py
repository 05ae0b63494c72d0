"""`python -m helpers.grade.example FOLDER [TASK …]`: a class of submissions to try grading with.

Each of them is made of solutions, stubs and wrong programs, as a class would hand them in: most
did most of it. Only the edition with the solutions can make it.
"""

import argparse
import random
import shutil
import sys
import textwrap
from pathlib import Path

from helpers.grade.handin import pack
from helpers.grade.marks import replace_regions
from helpers.grade.task import ROOT, Task, TaskError, load_module, load_task, task_ids, tasks_of
from helpers.grade.words import why_not

SHARES = {"right": 0.65, "wrong": 0.25, "undone": 0.1}


def bodies_of(task: Task) -> dict[str, list[str]]:
    """Of one task: wrong bodies, and the stub. Raises TaskError in the student edition."""
    path = ROOT / "tasks" / "programs" / (task.id.lower().replace("-", "_") + ".py")
    if not path.is_file():
        raise TaskError(f"{path} is not there: only the edition with the solutions has wrong work")
    programs = load_module(path, f"programs_{path.stem}").PROGRAMS
    return {"wrong": [textwrap.dedent(p.body) for p in programs], "undone": [task.stub()]}


def submission(tasks: list[Task], draw: random.Random) -> dict[str, str]:
    """The files of one submission: name -> text."""
    files = {task.file: (ROOT / task.file).read_text(encoding="utf-8") for task in tasks}
    for task in tasks:
        (how,) = draw.choices(list(SHARES), SHARES.values())
        if how != "right":
            body = draw.choice(bodies_of(task)[how])
            files[task.file] = replace_regions(
                files[task.file],
                lambda region, task=task, body=body: (
                    body if region.task == task.id else _with_marks(region)
                ),
                task.file,
            )
    return files


def _with_marks(region) -> str:
    return f"# BEGIN {'SOLUTION'} {region.task}\n{region.body}\n# END {'SOLUTION'} {region.task}"


def main(arguments: list[str] | None = None) -> int:
    """0 if it was written, 2 if the question was wrong."""
    parser = argparse.ArgumentParser(
        prog="python -m helpers.grade.example", description="Make a class of submissions."
    )
    parser.add_argument("folder", type=Path, help="where to; it must be new")
    parser.add_argument("tasks", nargs="*", help="tasks, labs or lessons; all by default")
    parser.add_argument("--count", type=int, default=40, help="how many (40)")
    options = parser.parse_args(arguments)
    try:
        if options.count < 1:
            raise TaskError(f"--count must be at least 1, not {options.count}")
        if options.folder.exists():
            raise TaskError(f"{options.folder} is there already: name a new folder")
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
    print(f"{options.count} submissions of {len(ids)} tasks in {options.folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
