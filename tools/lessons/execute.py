"""Execute a lesson in a fresh kernel and keep of its outputs only what makes small diffs."""

import os
import re
import tempfile
from html import unescape
from pathlib import Path

import matplotlib.font_manager  # noqa: F401  makes its font cache now: later it warns in a cell
from ipykernel.kernelspec import get_kernel_dict
from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbformat import NotebookNode
from nbformat.v4 import new_output

from helpers.draw.themed import PICTURE as THEMED
from lessons.book import LessonFailed

KEPT = ("jupyter", "tags")  # of what a cell's metadata hold
ANSI = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
COLOR = re.compile(r"\x1b\[[0-9;]*m")
PICTURE = re.compile(
    r'<img alt="(?P<alt>[^"]*)"[^>]*src="data:image/png;base64,(?P<data>[\w+/=]+)"[^>]*>'
)
WIDTH = re.compile(r'width="(\d+)"')
CELL_LINE = re.compile(r"Cell In\s?\[\d+\], line (\d+)")


def execute(notebook: NotebookNode, folder: Path, cell_seconds: int = 600) -> None:
    """Run every cell of `notebook` from the top in `folder`, with this Python and LAB_STATIC=1.

    Raises LessonFailed for the first cell that raises, takes too long or ends its kernel.
    """
    current = {"index": 0}
    client = NotebookClient(
        notebook,
        timeout=cell_seconds,
        startup_timeout=300,
        iopub_timeout=120,  # after the usual 4 s it would go on without the last outputs
        extra_arguments=["--log-level=ERROR"],  # it would warn that local messages are not secret
        store_widget_state=False,
        record_timing=False,
        resources={"metadata": {"path": str(folder)}},
        on_cell_start=lambda cell, cell_index: current.update(index=cell_index),
    )
    try:
        with tempfile.TemporaryDirectory() as profile:  # not the user's IPython settings
            client.km = _this_python(Path(profile))
            client.execute(env=os.environ | {"LAB_STATIC": "1", "IPYTHONDIR": profile})
    except CellExecutionError as error:
        cell = notebook.cells[current["index"]]
        where = code_line(cell.source, error.traceback)
        why = f"{error.ename}: {error.evalue}" if error.evalue else error.ename
        raise LessonFailed(f"cell {current['index'] + 1} failed{where}: {why}") from None
    except CellTimeoutError:
        message = f"took more than {cell_seconds} s and was ended"
        raise LessonFailed(f"cell {current['index'] + 1} {message}") from None
    except DeadKernelError:
        raise LessonFailed(f"cell {current['index'] + 1} ended its kernel") from None


def code_line(source: str, traceback: str) -> str:
    """ " at `the line of the cell`" if `traceback` names it; an error on a rank says it itself."""
    found = CELL_LINE.search(ANSI.sub("", traceback))
    lines = source.splitlines()
    number = int(found.group(1)) if found else 0
    return f" at `{lines[number - 1].strip()}`" if 0 < number <= len(lines) else ""


def clean(notebook: NotebookNode) -> None:
    """Number the executions from 1, join what one cell prints, drop what changes by itself."""
    count = 0
    for cell in notebook.cells:
        cell.metadata = {name: cell.metadata[name] for name in KEPT if name in cell.metadata}
        if cell.cell_type != "code":
            continue
        count += 1
        cell.execution_count = count
        cell.outputs = [part for output in _joined(cell.outputs) for part in _with_pictures(output)]
        for output in cell.outputs:
            if "execution_count" in output:
                output.execution_count = count


def _joined(outputs: list[NotebookNode]) -> list[NotebookNode]:
    """Neighboring texts of one stream as one; of a line rewritten by `\\r` what was left of it."""
    joined: list[NotebookNode] = []
    for output in outputs:
        last = joined[-1] if joined else {}
        if output.output_type == "stream" and last.get("name") == output.name:
            last.text += output.text
        else:
            joined.append(output)
    for output in joined:
        if output.output_type == "stream":
            lines = output.text.replace("\r\n", "\n").split("\n")
            text = "\n".join(line.rstrip("\r").rsplit("\r", 1)[-1] for line in lines)
            output.text = ANSI.sub(lambda code: code[0] if COLOR.fullmatch(code[0]) else "", text)
    return joined


def _with_pictures(output: NotebookNode) -> list[NotebookNode]:
    """An output whose HTML holds pictures as the rest of the HTML, and an image/png of each.

    GitHub shows no picture inside of HTML: see docs/viewers.md.
    """
    html = output.get("data", {}).get("text/html", "")
    pictures = list(PICTURE.finditer(html))
    if not pictures:
        return [output]
    words = output.data.get("text/plain", "")
    rest = PICTURE.sub("", html).strip()
    if rest:
        output.data["text/html"] = rest
    parts = [output] if rest else []
    for found in pictures:
        facts = {"alt": unescape(found["alt"])}
        if width := WIDTH.search(found[0]):
            facts["width"] = int(width[1])
        data = {"image/png": found["data"], "text/plain": words if not rest else facts["alt"]}
        # What the page of the lesson shows in the place of the picture.
        if rest and THEMED in output.data:
            data[THEMED] = output.data.pop(THEMED)
        elif not rest:
            data |= {kind: kept for kind, kept in output.data.items() if kind.endswith("+json")}
        parts.append(new_output("display_data", data, metadata={"image/png": facts}))
    return parts


def _this_python(folder: Path) -> AsyncKernelManager:
    """A kernel of the Python that runs the builder, whatever kernels the user has installed.

    folder: for its sockets. (A port that is free when it is chosen may be taken when it is used;
    but Windows knows nothing else, and the name of a socket may not be long.)
    """
    manager = AsyncKernelManager(kernel_name="python3")
    if os.name != "nt" and len(str(folder)) < 80:
        manager.transport, manager.ip = "ipc", str(folder / "kernel")
    manager._kernel_spec = KernelSpec(**get_kernel_dict())
    return manager
