"""Write notebooks/NN_name.ipynb from notebooks/source/NN_name.py, and run it.

    python tools/notebooks.py              those whose source has changed
    python tools/notebooks.py 04 06        these, whether they have or not
    python tools/notebooks.py --check      execute nothing, name those whose source has changed

A lesson keeps its outputs where only its text has changed. That it still shows them after a change
of a script is tested (`make test-all`), not asked here.
"""

import argparse
import ast
import os
import re
import sys
import tempfile
from html import escape
from pathlib import Path

import jupytext
import nbformat
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbformat import NotebookNode

from helpers.check.task import Task, load_task
from helpers.files import write_whole

ROOT = Path(__file__).resolve().parents[1]
METADATA = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
KEPT = ("jupyter", "tags")  # of a cell's metadata: folded or not, and what may vary
CHECK = re.compile(r'check\("([A-Z0-9-]+)"\)')
COMMENT = re.compile(r"  # (?:fmt: (?:skip|off|on)|noqa(?:: [\w, ]+)?)$", re.MULTILINE)
QUICK = re.compile(r"\bquick\(")
LEAK = re.compile(  # a folder of this machine, an object's address
    r"(?:/home/|/Users/|/root/|/tmp/|/var/folders/|[A-Za-z]:\\Users\\)[\w./\\-]*"
    r"| at 0x[0-9A-Fa-f]{6,}"
)


def sources(names: list[str] = ()) -> list[Path]:
    """Return the sources whose name starts with one of `names`; all without names."""
    paths = sorted((ROOT / "notebooks/source").glob("*.py"))
    return [path for path in paths if not names or path.name.startswith(tuple(names))]


def read(source: Path, quick: bool = False) -> NotebookNode:
    """Return a py:percent file as a notebook without outputs, the same for the same text.

    Before a cell `check("DP-1")` comes a text cell with what the task's file says: where to write
    it, and hints. What a source says to the tools alone (`# noqa`, `quick(…)`) is gone.
    """
    notebook = nbformat.v4.new_notebook(metadata=METADATA)
    for cell in jupytext.reads(source.read_text(encoding="utf-8"), fmt="py:percent").cells:
        if cell.cell_type == "code":
            cell.source = as_shown(cell.source, quick)
            if checks := CHECK.match(cell.source):
                task = load_task(checks[1])
                notebook.cells.append(nbformat.v4.new_markdown_cell(card(task)))
        notebook.cells.append(cell)
    for number, cell in enumerate(notebook.cells):
        cell.id = f"{number:03}"
        cell.metadata = {key: cell.metadata[key] for key in KEPT if key in cell.metadata}
    return notebook


def card(task: Task) -> str:
    """Return where to write a task, and each hint behind a line to click on."""
    names = ", ".join(f"`{name}`" for name in task.functions)
    lines = [f"{names} in [{task.file}](../{task.file})\n"]
    for number, hint in enumerate(task.hints, 1):
        text = re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(hint, quote=False))
        title = f"<summary>Hint {number} for {task.id}</summary>"
        lines.append(f"<details>{title}{text}</details>")
    return "\n".join(lines)


def as_shown(code: str, quick: bool = False) -> str:
    """Return the code of a cell without the words for the tools.

    quick: of `quick(40, 2)` a lesson has the 40, and a test that only walks through it the 2.
    """
    code = COMMENT.sub("", code)
    while found := QUICK.search(code):
        for end in (n + 1 for n in range(found.end(), len(code)) if code[n] == ")"):
            call = code[found.start() : end]
            try:
                full, few = ast.parse(call, mode="eval").body.args
            except SyntaxError:
                continue  # not the bracket that ends it
            value = ast.get_source_segment(call, few if quick else full)
            code = code[: found.start()] + value + code[end:]
            break
        else:
            raise ValueError(f"quick(…) never ends: {code[found.start() : found.start() + 60]}")
    return code


def run(notebook: NotebookNode) -> None:
    """Run every cell from the top, as a reader does.

    Raises CellExecutionError if a cell raised; ValueError if it shows what no reader should see.
    """
    with tempfile.TemporaryDirectory() as folder:
        manager = AsyncKernelManager(kernel_name="python3")
        if os.name == "posix":  # a port that is free now may be taken when the kernel wants it
            manager.transport, manager.ip = "ipc", f"{folder}/kernel"
        client = NotebookClient(
            notebook,
            manager,
            timeout=600,
            startup_timeout=300,
            iopub_timeout=120,
            coalesce_streams=True,
            record_timing=False,
            store_widget_state=False,
            extra_arguments=["--log-level=ERROR"],
            resources={"metadata": {"path": str(ROOT / "notebooks")}},
        )
        variables = {"LAB_STATIC": "1", "IPYTHONDIR": folder}
        client.execute(cleanup_kc=True, env=os.environ | variables)
    notebook.metadata = METADATA  # and not the version of this Python
    for number, cell in enumerate(code_cells(notebook), 1):
        for output in cell.outputs:
            data = output.get("data", {})
            words = [output.get("text", ""), *(data[kind] for kind in data if kind[:4] == "text")]
            leak = LEAK.search("\n".join(words))
            if output.get("name") == "stderr" or leak:
                shown = leak[0] if leak else words[0][:200]
                raise ValueError(f"code cell {number} shows what no reader should see: {shown!r}")


def code_cells(notebook: NotebookNode) -> list[NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def texts(notebook: NotebookNode) -> list[tuple[str, str, dict]]:
    """Return kind, text and metadata of each cell: what source and notebook have in common."""
    return [(cell.cell_type, cell.source, dict(cell.metadata)) for cell in notebook.cells]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python tools/notebooks.py", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("names", nargs="*", metavar="NAME", help="lessons: 01 03_data")
    parser.add_argument("--check", action="store_true", help="execute nothing")
    flags = parser.parse_args(arguments)
    for name in flags.names:
        if not sources([name]):
            parser.error(f"no lesson starts with {name!r}: see notebooks/source/")
    stale, failed = [], []
    for source in sources(flags.names):
        path, notebook = ROOT / f"notebooks/{source.stem}.ipynb", read(source)
        old = nbformat.read(path, as_version=4) if path.exists() else nbformat.v4.new_notebook()
        if texts(old) == texts(notebook) and not flags.names:
            continue
        stale.append(source.stem)
        print(source.stem, flush=True)
        if flags.check:
            continue
        here, there = code_cells(notebook), code_cells(old)
        if [cell.source for cell in here] == [cell.source for cell in there] and not flags.names:
            for cell, was in zip(here, there, strict=True):
                cell.outputs, cell.execution_count = was.outputs, was.execution_count
        else:
            try:
                run(notebook)
            except (CellExecutionError, ValueError) as error:
                failed.append(source.stem)
                print(f"{source.stem}: not built: {error}")
                continue
        write_whole(path, (nbformat.writes(notebook, indent=1).rstrip("\n") + "\n").encode())
    return int(bool(failed or (flags.check and stale)))


if __name__ == "__main__":
    sys.exit(main())
