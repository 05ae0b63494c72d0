"""Walk through the lessons of a student's copy as a student does, cell by cell.

    python tests/walk/walker.py COPY SOURCES WAY [LESSON …]

WAY: "unsolved", or "solved" (`solve` runs just before each check; the copy then stays solved).
Each lesson runs in a process that is forked from this one. Prints one JSON object for each: its
name, its tasks, what went wrong, and the output of each cell as text.
"""

import contextlib
import io
import json
import os
import re
import sys
import traceback
from pathlib import Path

CHECK = re.compile(r'^check\("([A-Z0-9-]+)"\)', re.MULTILINE)
ANSI = re.compile(r"\x1b\[[0-9;]*m")


def walk(copy: Path, source: Path, way: str) -> dict:
    """Run one lesson in this process, which ends with it."""
    from IPython.core.interactiveshell import InteractiveShell

    os.chdir(copy / "notebooks")
    sys.path[:] = [str(copy / "notebooks"), str(copy), *sys.path[1:]]
    sys.argv = [""]
    shell = InteractiveShell.instance()
    shell.colors = "nocolor"
    shell.Completer.use_jedi = False
    from helpers.check import solve
    from helpers.check.notebook import explain_undone_tasks
    from notebooks import read

    explain_undone_tasks()
    notebook = read(source, quick=os.environ.get("LAB_QUICK") == "1")
    tasks = [task for cell in notebook.cells for task in CHECK.findall(cell.source)]
    faults, cells = [], []
    for number, cell in enumerate(notebook.cells, 1):
        if cell.cell_type != "code":
            continue
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            for task in CHECK.findall(cell.source) if way == "solved" else ():
                solve(task)
            result = shell.run_cell(cell.source, store_history=True)
        text = ANSI.sub("", out.getvalue())
        cells.append({"cell": number, "source": cell.source, "text": text})
        if not result.success or "Traceback (most recent call last)" in text:
            faults.append(f"cell {number} fails: {text[-1500:]}")
    return {"lesson": source.stem, "tasks": tasks, "faults": faults, "cells": cells}


def main() -> None:
    copy, sources, way, *names = sys.argv[1:]
    copy = Path(copy).resolve()
    import matplotlib.pyplot  # noqa: F401  each lesson's process has them at once
    import torch.distributed  # noqa: F401, I001
    from IPython.core.interactiveshell import InteractiveShell  # noqa: F401

    import helpers.lesson

    assert Path(helpers.lesson.__file__).is_relative_to(copy), helpers.lesson.__file__
    for source in sorted(Path(sources).glob("*.py")):
        if names and source.stem not in names:
            continue
        sys.stdout.flush()
        pid = os.fork()
        if pid == 0:
            try:
                printed = os.dup(1)
                found = walk(copy, source, way)
            except BaseException:
                found = {"lesson": source.stem, "tasks": [], "cells": []}
                found["faults"] = [traceback.format_exc()]
            os.write(printed, (json.dumps(found) + "\n").encode())
            from helpers.ranks import keep_warm

            keep_warm(0)
            os._exit(0)
        _, status = os.waitpid(pid, 0)
        if status:
            print(json.dumps({"lesson": source.stem, "faults": [f"it ended with {status}"]}))


if __name__ == "__main__":
    main()
