"""Walk through the lessons of a student edition as a student does, cell by cell.

    python tests/walk/walker.py EDITION WAY [LESSON …]

WAY: "unsolved", "skipped" (every task skipped at the start of each lesson) or "solved" (each task's
reference is written into its file just before its check; the edition then stays solved).

One process imports torch and the edition's helpers. Each lesson runs in a process that is forked
from it. Prints one JSON object for each lesson: its name, its
seconds, what went wrong, and the output of each cell as text.
"""

import contextlib
import io
import json
import os
import re
import sys
import time
import traceback
from pathlib import Path

CHECK = re.compile(r'^check\("([A-Z0-9-]+)"\)', re.MULTILINE)
ANSI = re.compile(r"\x1b\[[0-9;]*m")


def walk(edition: Path, name: str, way: str) -> dict:
    """Run one lesson in this process, which ends with it."""
    from IPython.core.interactiveshell import InteractiveShell

    from helpers.ranks import keep_warm
    from helpers.skipped import references

    keep_warm(1)
    os.chdir(edition / "notebooks")
    sys.path[:] = [str(edition / "notebooks"), str(edition), *sys.path[1:]]
    sys.argv = [""]
    shell = InteractiveShell.instance()
    shell.colors = "nocolor"
    shell.Completer.use_jedi = False
    from helpers.grade.missing import explain_missing_tasks
    from helpers.lesson.skipping import offer_skip

    explain_missing_tasks()
    offer_skip()
    from notebooks import read

    few = os.environ.get("LAB_QUICK") == "1"
    notebook = read(edition / f"notebooks/source/{name}.py", quick=few)
    tasks = [task for cell in notebook.cells for task in CHECK.findall(cell.source)]
    if way == "skipped":
        for task in references(edition):
            with contextlib.redirect_stdout(io.StringIO()):
                shell.user_ns["skip"](task)
    faults, cells = [], []
    begun = time.perf_counter()
    for number, cell in enumerate(notebook.cells, 1):
        if cell.cell_type != "code":
            continue
        for task in CHECK.findall(cell.source) if way == "solved" else ():
            solve(edition, task)
        out = io.StringIO()
        started = time.perf_counter()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            result = shell.run_cell(cell.source, store_history=True)
        text = ANSI.sub("", out.getvalue())
        seconds = round(time.perf_counter() - started, 1)
        cells.append({"cell": number, "seconds": seconds, "source": cell.source, "text": text})
        if not result.success or "Traceback (most recent call last)" in text:
            faults.append(f"cell {number} fails: {text[-1500:]}")
    total = round(time.perf_counter() - begun, 1)
    return {"lesson": name, "seconds": total, "tasks": tasks, "faults": faults, "cells": cells}


def solve(edition: Path, task_id: str) -> None:
    """Write the reference of a task into its file, as a student would write it."""
    from helpers.skipped import references, with_references

    for name, functions in references(edition)[task_id].items():
        path = edition / name
        text = with_references(path.read_text(encoding="utf-8"), functions)
        path.write_text(text, encoding="utf-8")
        os.utime(path, (time.time() + 2, time.time() + 2))  # no cached code of the same second


def main() -> None:
    edition, way, *names = sys.argv[1:]
    edition = Path(edition).resolve()
    sys.path.append(str(edition / "tools"))  # where lessons are read
    import matplotlib.pyplot  # noqa: F401  each lesson's process has them at once
    import torch.distributed  # noqa: F401, I001
    from IPython.core.interactiveshell import InteractiveShell  # noqa: F401

    import helpers.lesson
    import notebooks  # noqa: F401
    from helpers.ranks import launch  # noqa: F401

    assert Path(helpers.lesson.__file__).is_relative_to(edition), helpers.lesson.__file__
    lessons = sorted(path.stem for path in (edition / "notebooks").glob("*.ipynb"))
    for name in [name for name in lessons if not names or name.startswith(tuple(names))]:
        sys.stdout.flush()
        pid = os.fork()
        if pid == 0:
            try:
                printed = os.dup(1)
                found = walk(edition, name, way)
            except BaseException:
                found = {"lesson": name, "seconds": 0, "tasks": [], "cells": []}
                found["faults"] = [traceback.format_exc()]
            os.write(printed, (json.dumps(found) + "\n").encode())
            from helpers.ranks import keep_warm

            keep_warm(0)
            os._exit(0)
        _, status = os.waitpid(pid, 0)
        if status:
            print(json.dumps({"lesson": name, "faults": [f"its process ended with {status}"]}))


if __name__ == "__main__":
    main()
