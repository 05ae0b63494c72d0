"""What the puzzle tasks share: run a step on the simulated cluster, and judge what it did.

The step runs in another process and leaves a tape there; the tape is played again here, on a
cluster where no line of the work has ever run.
"""

import importlib
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from helpers.grade import Mistake, Submission, WorkFailed
from helpers.grade.task import ROOT

SECONDS = 10.0  # for each case


def load_cluster():
    """The grader's own simulated cluster, whatever else is called `cluster`."""
    folder = str(ROOT / "puzzles")
    sys.path.insert(0, folder)
    try:
        return importlib.import_module("cluster")
    finally:
        sys.path.remove(folder)


@dataclass(frozen=True)
class Case:
    """A cluster to run on, and what is enough there: time in the profile's unit, memory in its own.

    more: further arguments of the step.
    """

    ranks: int
    layers: int
    samples: int
    more: tuple = ()
    profile: str = "steps"
    time: float = float("inf")
    memory: float = float("inf")

    def __str__(self) -> str:
        micro = f", micro-batches of {self.more[0]}" if self.more else ""
        ranks = f"{self.ranks} rank{'s' * (self.ranks > 1)}"
        return f"{ranks}, {self.layers} layers, {self.samples} samples{micro}"


def run_cases(path: str, function: str, orders: list) -> list[tuple[str, str]]:
    """In the work's own process: for each order the tape of the step, or why there is none."""
    load_cluster()
    runs = importlib.import_module("cluster.submission")
    return runs.ask(Path(path), function, [runs.Case(*order) for order in orders], SECONDS)


def verify_cases(
    submission: Submission,
    function: str,
    cases: Sequence[Case],
    slow: str,
    large: str,
) -> None:
    """Raise Mistake for the first case that is wrong, too slow or too large.

    slow, large: what to think of then. Raises WorkFailed for a stub.
    """
    cluster = load_cluster()
    tapes = importlib.import_module("cluster.tape")
    runs = importlib.import_module("cluster.submission")
    orders = [[c.ranks, c.layers, c.samples, c.more, {"profile": c.profile}] for c in cases]
    answers = runs.read_answers(submission.apart(run_cases, function, orders), len(cases))
    for case, (kind, text) in zip(cases, answers, strict=True):
        if kind == "todo":
            raise WorkFailed("not done", f"not done yet: {text}")
        if kind != "tape":
            raise Mistake(f"{case}: {text}")
        try:
            models = tapes.replay(
                text,
                (case.ranks, case.layers, case.samples),
                profile=case.profile,
                seconds=max(SECONDS, submission.deadline - time.monotonic()),
            )
            found = cluster.outcome(models)
        except cluster.PuzzleError as error:
            raise Mistake(f"{case}: {error}") from None
        if found.time > case.time * (1 + 1e-9):
            raise Mistake(
                f"{case}: it takes {found.time:.6g} {found.unit}, and {case.time:.6g} are enough: "
                f"{slow}"
            )
        if found.memory > case.memory * (1 + 1e-9):
            raise Mistake(
                f"{case}: rank {found.rank} holds {found.memory:,.0f} {found.memory_unit}, and "
                f"{case.memory:,.0f} are enough: {large}"
            )
