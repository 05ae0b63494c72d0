"""In a notebook: a cell that cannot run because of an undone task says which task that is.

The stub of a task names it where it is called. A later cell fails too, for want of a name, or with
a value from before; here it is told why.
"""

import re
import sys

_TASK = re.compile(r"Task ([A-Z][A-Z0-9-]*): [^\n]*")
KEPT = "lab_undone_tasks"  # on the shell: which tasks have stopped a cell, id -> message


def explain_missing_tasks() -> None:
    """From now on every error of this notebook is looked at. Does nothing outside of a notebook."""
    shell = _shell()
    if shell is not None and not hasattr(shell, KEPT):
        setattr(shell, KEPT, {})
        shell.set_custom_exc((Exception,), _show)


def forget_missing(task_id: str) -> None:
    """The task has passed: it is missing no more."""
    getattr(_shell(), KEPT, {}).pop(task_id, None)


def note(error: BaseException, undone: dict[str, str]) -> None:
    """Remember the task that `error` names; or tell an error of the one that was met before."""
    found = _TASK.search(str(error))
    if found:
        undone[found[1]] = found[0]
    elif undone:
        first = next(iter(undone.values()))
        error.add_note(
            "An earlier cell stopped, because a task is not done yet; this may follow from it. "
            f"{first} Then run all cells again."
        )


def _show(shell, kind, error, trace, tb_offset=None) -> None:
    """What IPython calls for an error: note, then show it as always."""
    note(error, getattr(shell, KEPT))
    shell.showtraceback((kind, error, trace), tb_offset=tb_offset)


def _shell():
    """The shell of this notebook, or None."""
    return sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
