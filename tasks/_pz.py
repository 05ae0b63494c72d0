"""What the puzzle tasks share: run a step on the simulated cluster, and return its tape.

In Python nothing can be hidden from a step in its own process. So only the tape counts: the judge
plays it again, on a cluster where no line of the step has ever run.
"""

import importlib
import sys
from pathlib import Path

from helpers.grade.task import ROOT

SECONDS = 10.0  # for each case, where it names no other


def library():
    """Import lib, utils and the cluster of this repository, whatever else has these names.

    Their folder doesn't stay on the path, so no step can import the one that lies beside them.
    """
    sys.path.insert(0, str(ROOT / "puzzles"))
    try:
        for name in ("lib", "utils"):
            importlib.import_module(name)
        return importlib.import_module("cluster.tape")
    finally:
        sys.path.remove(str(ROOT / "puzzles"))


tapes = library()  # before the work, which imports from them


def run_of(function):
    """Return `run` of the task whose step has this name."""

    def run(module, case):
        """{"tape": what every rank did} or {"error": why the cluster refused it}."""
        seconds = case.get("seconds", SECONDS)
        return tapes.record(getattr(module, function), case, seconds, Path(module.__file__))

    return run
