"""How a launch went: its report, and which rank failed first. The sentences are in `hang.cases`."""

import builtins
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from helpers.hang import cases
from helpers.hang.places import locate
from helpers.plain_errors import is_echo
from helpers.ranks.job import Error
from helpers.waits import WaitGraph
from helpers.words import names


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
    misfit: what differs, if operations of several ranks don't fit: a key of `cases.MISFITS`.
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
    misfit: str = ""

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


@dataclass
class RankState:
    """What is known about one rank while a job runs. status: of its exit, once it has ended."""

    rank: int
    running: bool = False  # whether the job itself has begun
    result: bytes | None = None
    error: Error | None = None
    status: int | None = None

    @property
    def finished(self) -> bool:
        return self.result is not None

    @property
    def failed(self) -> bool:
        return self.error is not None or (self.status is not None and not self.finished)

    @property
    def echo(self) -> bool:
        """Whether its error only says that a partner has gone."""
        if self.error is None:
            return False
        # An OSError is a cause, from the program's own files and sockets: torch doesn't raise any.
        kind = getattr(builtins, self.error.kind, Exception)
        own = isinstance(kind, type) and issubclass(kind, OSError)
        return not own and is_echo(self.error.text)


def first_failure(states: Sequence[RankState]) -> Failure:
    """Choose the failure to show: the earliest, but before echoes what may have caused them."""
    failed = [s for s in states if s.failed]
    own = sorted((s for s in failed if s.error and not s.echo), key=lambda s: s.error.time)
    state = (own + [s for s in failed if not s.error] + failed)[0]
    rest = cases.were_stopped([s.rank for s in states if s is not state and not s.finished])
    if (error := state.error) is None:
        how = cases.died(state.status)
        return Failure(state.rank, cases.DIED.format(rank=state.rank, how=how), rest)
    place, text = locate(error.frames), error.text.strip()
    gone = [s.rank for s in states if s.finished]
    sentence, facts = cases.FAILED_FIRST, {"what": ": ".join(filter(None, (error.kind, text)))}
    if error.kind == "SystemExit":  # its text is a number, a text, or nothing
        how = f", with exit status {text}" if text.lstrip("-").isdigit() else f": {text}"
        how = cases.EXIT_0 if text in ("", "None") else how
        sentence, facts = cases.ENDED_ITSELF, {"how": how}
    elif state.echo and gone:
        are = "is" if len(gone) == 1 else "are"
        sentence, facts = cases.LOST_ITS_PARTNER, {"gone": names(gone), "are": are}
    sentence = sentence.format(rank=state.rank, where=place.phrase, **facts)
    if error.misfit:  # between ranks: its text names them all
        sentence = text
    details = "\n".join(part for part in (place.line, rest) if part)
    facts = {"error": error.kind, "text": text, "misfit": error.misfit}
    return Failure(state.rank, sentence, details, error.traceback, **facts)


def only_echoes(states: Sequence[RankState]) -> bool:
    """Return whether all failures so far are echoes, and their cause may still arrive.

    A rank that has finished is cause enough: a partner that has gone.
    """
    failed = [s for s in states if s.failed]
    waiting = len(failed) < len(states) and not any(s.finished for s in states)
    return waiting and all(s.echo for s in failed)
