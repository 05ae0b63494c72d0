"""How a launch went: its report, and which rank failed first."""

import signal
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from helpers.hang.places import locate
from helpers.ranks.pool import RankProcess
from helpers.waits import WaitGraph
from helpers.words import names

EXIT_0 = ", with exit status 0: a function ends with return, and sys.exit() ends the whole rank"
OFTEN = {
    "SIGKILL": " (often: the machine ran out of memory)",
    "SIGABRT": " (often: a receive buffer is smaller than the message; checked=True, or --checked, "
    "says which)",
}


@dataclass(frozen=True)
class Failure:
    """How a launch failed.

    rank: the rank that failed first, or None if no single rank did (a time-out).
    sentence: what happened, in one sentence, with the line.
    details: the source line, and what became of the other ranks.
    traceback: Python's traceback of the rank that failed first.
    waits: which rank waited for which, if the ranks were stuck; a notebook draws it. waiting: of
        each such rank the operation ("recv", "all_reduce", …) and the peer of a message.
    cure: what to do; it's among the details too.
    error: the name of the error with which the rank failed; text: what the error said.
    """

    rank: int | None
    sentence: str
    details: str = ""
    traceback: str = ""
    waits: WaitGraph | None = None
    waiting: tuple[tuple[int, str, int | None], ...] = ()
    cure: str = ""
    error: str = ""
    text: str = ""

    def __str__(self) -> str:
        return self.sentence + ("\n" + self.details if self.details else "")


class RankFailed(RuntimeError):
    """A launch failed; `failure` says which rank failed first, and where."""

    def __init__(self, failure: Failure):
        super().__init__(str(failure))
        self.failure = failure

    def _render_traceback_(self) -> list[str]:
        """Return what a notebook shows: the rank's failure, not the launcher's frames."""
        return ["RankFailed: " + str(self.failure)]


@dataclass
class LaunchReport:
    """The outcome of a launch: the results or the failure, and what each rank printed."""

    results: list[Any]
    failure: Failure | None
    texts: list[str]
    seconds: float

    @property
    def ok(self) -> bool:
        return self.failure is None

    def __str__(self) -> str:
        return str(self.failure or f"{len(self.results)} ranks finished in {self.seconds:.1f} s")

    __repr__ = __str__


def first_failure(ranks: Sequence[RankProcess]) -> Failure:
    """Choose the failure to show: the earliest, but before echoes what may have caused them."""
    failed = [each for each in ranks if each.failed]
    own = [each for each in failed if each.error and not each.error.echo]
    own.sort(key=lambda each: each.error.time)
    first = (own + [each for each in failed if not each.error] + failed)[0]
    stopped = [each.number for each in ranks if each is not first and not each.finished]
    were = "was" if len(stopped) == 1 else "were"
    rest = f"  ({names(stopped)} {were} stopped)" if stopped else ""
    rank, error = first.number, first.error
    if error is None:
        return Failure(rank, f"rank {rank} ended without a word: {died(first.status)}", rest)
    place, text = locate(error.frames), error.text.strip()
    gone = [each.number for each in ranks if each.finished]
    what = ": ".join(filter(None, (error.kind, text)))
    sentence = f"rank {rank} failed first{place.phrase}: {what}"
    if error.kind == "Mismatch":  # between ranks: its text names them all
        sentence = text
    elif error.kind == "SystemExit":  # its text is a number, a text, or nothing
        how = f", with exit status {text}" if text.lstrip("-").isdigit() else f": {text}"
        how = EXIT_0 if text in ("", "None") else how
        sentence = f"rank {rank} ended itself{place.phrase}{how}"
    elif error.echo and gone:
        sentence = (
            f"rank {rank} lost its partner{place.phrase}: {names(gone)} had returned already, and "
            f"{'is' if len(gone) == 1 else 'are'} no longer there to answer: let every rank send, "
            "receive and average as often as the others"
        )
    details = "\n".join(filter(None, (place.line, rest)))
    return Failure(rank, sentence, details, error.traceback, error=error.kind, text=text)


def died(status: int | None) -> str:
    """Return how a process died. status: as subprocess has it; None: it hasn't ended."""
    if status is None:
        return "it stopped answering"
    if status >= 0:
        return f"its process ended itself with exit status {status}"
    known = -status in {number.value for number in signal.Signals}
    name = signal.Signals(-status).name if known else f"signal {-status}"
    return f"it was ended by {name}{OFTEN.get(name, '')}"
