"""`%%ranks 3`: run a cell of the notebook on three ranks.

The cell knows `rank`, `world_size`, `device`, `torch` and `dist`, and the names of the notebook
that it uses.  The value of its last line, on each rank, is shown; `--out name` keeps the list.
"""

import argparse
import ast
import linecache
import shlex
from typing import Any

from helpers.hang.places import CELLS
from helpers.ranks.start import raise_failure, run_call

USAGE = "write %%ranks 3 (or: %%ranks 3 --timeout 60 --out results)"


class CellSyntaxError(ValueError):
    """The cell is not Python; a notebook shows its line as it shows that of any other cell."""

    def __init__(self, error: SyntaxError, shell: Any):
        super().__init__(f"line {error.lineno} of the cell: {error.msg}")
        # IPython asks for it, and shows our own frames for every SyntaxError that a magic raises.
        show = shell.SyntaxTB.structured_traceback
        self._render_traceback_ = lambda: show(SyntaxError, error, [])


def ranks_cell(line: str, text: str, shell: Any) -> None:
    """Run the text of a cell on several ranks.  `line` is the rest of the line after %%ranks."""
    options = _options(line)
    # Of its inputs this is the last; `execution_count` may be that of the next one already.
    number = len(shell.history_manager.input_hist_raw) - 1
    file = f"<cell {number} on ranks>"
    # The first line of the cell is the magic itself: keep the notebook's line numbers.
    text = "\n" + text
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    CELLS[file] = f"cell [{number}]"
    try:
        tree = ast.parse(text, file)
        compile(tree, file, "exec")  # finds a return outside of a function, too
    except SyntaxError as error:
        error.filename = shell.compile.cache(text, number)
        raise CellSyntaxError(error, shell) from None
    used = sorted({node.id for node in ast.walk(tree) if isinstance(node, ast.Name)})
    names = {name: shell.user_ns[name] for name in used if name in shell.user_ns}
    how = {"backend": options.backend, "timeout": options.timeout, "checked": not options.unchecked}
    how |= {"quiet": True, "silent": False}  # quiet about the connection alone
    report = run_call(run_text, (text, file, names), options.ranks, **how)
    raise_failure(report.failure)
    if options.out:
        shell.user_ns[options.out] = report.results
    for rank, value in enumerate(report.results):
        if value is not None and not options.out:
            print(f"rank {rank}: {value!r}")


def run_text(text: str, file: str, names: dict[str, Any]) -> Any:
    """Run the text of a cell, inside a rank; return the value of its last line, if it has one."""
    import torch
    import torch.distributed as dist

    from helpers.ranks.connect import rank_device

    space = {"__name__": "__main__", "torch": torch, "dist": dist, **names}
    space |= {"rank": dist.get_rank(), "world_size": dist.get_world_size()}
    space["device"] = rank_device()
    tree = ast.parse(text, file)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, file, "exec"), space)
    return last and eval(compile(ast.Expression(last.value), file, "eval"), space)


def _options(line: str) -> argparse.Namespace:
    def refuse(message: str) -> None:
        raise ValueError(f"%%ranks: {message}; {USAGE}")

    parser = argparse.ArgumentParser(add_help=False)
    parser.error = refuse
    parser.add_argument("ranks", type=int, nargs="?", default=3)
    parser.add_argument("--timeout", type=float, default=300.0)
    parser.add_argument("--backend", default="auto")
    parser.add_argument("--unchecked", action="store_true")
    parser.add_argument("--out")
    return parser.parse_args(shlex.split(line))
