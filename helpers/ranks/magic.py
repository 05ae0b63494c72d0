"""`%%ranks 3`: run a cell of the notebook on three ranks.

The cell knows `rank`, `world_size`, `device`, `torch` and `dist`, and the names of the notebook
that it uses.  The value of its last line, on each rank, is shown; `--out name` keeps the list.
"""

import ast
import linecache
import re
from typing import Any

from helpers.hang.places import CELLS
from helpers.ranks.connect import rank_device
from helpers.ranks.start import raise_failure, run_call

LINE = re.compile(r" *(\d*) *(?:--out +(\w+))? *")


def ranks_cell(line: str, text: str, shell: Any) -> None:
    """Run the text of a cell on several ranks.  `line` is the rest of the line after %%ranks."""
    if (asked := LINE.fullmatch(line)) is None:
        raise ValueError(f"%%ranks {line}: write %%ranks 3 (or: %%ranks 3 --out results)")
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
        # IPython shows its line as that of any other cell, and not our own frames, as it would for
        # every SyntaxError that a magic raises.
        shown = shell.SyntaxTB.structured_traceback(SyntaxError, error, [])
        mistake = ValueError(f"line {error.lineno} of the cell: {error.msg}")
        mistake._render_traceback_ = lambda: shown
        raise mistake from None
    used = sorted({node.id for node in ast.walk(tree) if isinstance(node, ast.Name)})
    names = {name: shell.user_ns[name] for name in used if name in shell.user_ns}
    # Quiet about the connection alone.
    how = {"backend": "auto", "timeout": 300.0, "checked": True, "quiet": True, "silent": False}
    report = run_call(run_text, (text, file, names), int(asked[1] or 3), **how)
    raise_failure(report.failure)
    if asked[2]:
        shell.user_ns[asked[2]] = report.results
    for rank, value in enumerate(report.results):
        if value is not None and not asked[2]:
            print(f"rank {rank}: {value!r}")


def run_text(text: str, file: str, names: dict[str, Any]) -> Any:
    """Run the text of a cell, inside a rank; return the value of its last line, if it has one."""
    import torch
    import torch.distributed as dist

    space = {"__name__": "__main__", "torch": torch, "dist": dist, **names}
    space |= {"rank": dist.get_rank(), "world_size": dist.get_world_size()}
    space["device"] = rank_device()
    tree = ast.parse(text, file)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, file, "exec"), space)
    return last and eval(compile(ast.Expression(last.value), file, "eval"), space)
