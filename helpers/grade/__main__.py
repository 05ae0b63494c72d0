"""`python -m helpers.grade [TASK …] [--root FOLDER] [--seconds N] [--json]`."""

import argparse
import json
import sys
from pathlib import Path

from helpers.grade.notebook import find_root
from helpers.grade.run import grade
from helpers.grade.task import TaskError, load_task, task_ids
from helpers.grade.verdict import table


def main(arguments: list[str] | None = None) -> int:
    """0 if every task passed, 1 if one failed, 2 if the question was wrong."""
    parser = argparse.ArgumentParser(
        prog="python -m helpers.grade",
        description="Check tasks. The checks are those beside this program; the work is in ROOT.",
    )
    parser.add_argument("tasks", nargs="*", metavar="TASK", help="such as DP-1; all by default")
    parser.add_argument("--root", type=Path, help="the repository to grade; this one by default")
    parser.add_argument("--seconds", type=float, help="time limit for each task")
    parser.add_argument("--json", action="store_true", help="print the verdicts as JSON")
    options = parser.parse_args(arguments)
    root = options.root or find_root()
    try:
        if not root.is_dir():
            raise TaskError(f"there is no folder {root}: give --root the repository to grade")
        if options.seconds is not None and not options.seconds > 0:
            raise TaskError(f"--seconds must be above 0, not {options.seconds:g}")
        asked = options.tasks or task_ids()
        for task_id in asked:
            load_task(task_id)
        verdicts = []
        for task_id in asked:
            if sys.stderr.isatty():
                print(f"checking {task_id} …", end="\r", file=sys.stderr, flush=True)
            verdicts.append(grade(task_id, root, options.seconds))
    except TaskError as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        return 130
    if options.json:
        print(json.dumps([v.as_dict() for v in verdicts], indent=1))
    else:
        print(table(verdicts))
    return 0 if all(v.passed for v in verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
