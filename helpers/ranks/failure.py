"""How a launch went: its report, which rank failed first, where, and how to say it."""

import builtins
import signal
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from helpers.hang.diagnosis import diagnose
from helpers.hang.log import Standing
from helpers.hang.places import locate
from helpers.hang.wait_for_graph import GlobalSnapshot
from helpers.ranks.broken import ECHOES
from helpers.waits import WaitGraph
from helpers.words import names, say_seconds, text_of

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
        if self.failure:
            return str(self.failure)
        return f"{len(self.results)} ranks finished in {self.seconds:.1f} s"

    def __repr__(self) -> str:
        return str(self)


@dataclass
class RankState:
    """What is known about one rank while a job runs."""

    rank: int
    result: bytes | None = None
    error: dict | None = None  # as `worker.error_facts` made it
    status: int | None = None  # exit status, once the process has ended
    running: bool = False  # whether the job itself has begun
    standing: Standing | None = None  # where it was when it was last asked

    @property
    def finished(self) -> bool:
        return self.result is not None

    @property
    def failed(self) -> bool:
        return self.error is not None or (self.status is not None and not self.finished)


def first_failure(states: Sequence[RankState]) -> Failure:
    """Choose the failure to show, once at least one rank has failed.

    An error that only says that a connection broke is an echo: a rank that was killed, or that
    failed with its own error, comes before it.  Of several such errors, the earliest counts.
    """
    failed = [s for s in states if s.failed]
    own = [s for s in failed if s.error and not _is_echo(s.error)]
    died = [s for s in failed if s.error is None]
    echoes = [s for s in failed if s.error and _is_echo(s.error)]
    state = (sorted(own, key=lambda s: s.error["time"]) + died + echoes)[0]
    others = _others(states, state)
    if state.error is None:
        sentence = f"rank {state.rank} ended without a word: {_status(state.status)}"
        return Failure(state.rank, sentence, others)

    error = state.error
    where = locate(error["frames"])
    text = error["text"].strip()
    what = f"{error['type']}: {text}" if text else error["type"]
    sentence = f"rank {state.rank} failed first{where.phrase}: {what}"
    if error["misfit"]:  # between ranks: its text names them all
        sentence = text
    if error["type"] == "SystemExit":
        sentence = f"rank {state.rank} ended itself{where.phrase}{_exit_status(text)}"
    elif state in echoes and (gone := [s.rank for s in states if s.finished]):
        sentence = (
            f"rank {state.rank} lost its partner{where.phrase}: "
            f"{names(gone)} had returned already, and "
            f"{'is' if len(gone) == 1 else 'are'} no longer there to answer: let every rank send, "
            "receive and average as often as the others"
        )
    details = "\n".join(part for part in (where.line, others) if part)
    facts = {"error": error["type"], "text": text, "misfit": error["misfit"]}
    return Failure(state.rank, sentence, details, error["traceback"], **facts)


def stopped(states: Sequence[RankState], after: float | None = None) -> tuple[Failure, bool]:
    """Return the failure of ranks that no longer move, and whether they certainly never will.

    Args:
        after: the seconds of the time-out that has passed, or None before it has.
    """
    standings = [s.standing for s in states if s.standing]
    ended = [s.rank for s in states if s.finished]
    silent = [s.rank for s in states if not s.standing and not s.finished]
    found = diagnose(GlobalSnapshot(standings, ended, silent))
    sentence = found.sentence
    if after is not None:
        late = f"the ranks did not finish within {say_seconds(after)}, and were stopped"
        sentence = f"{late}: {sentence}"
    waiting = tuple((s.rank, s.waiting.name, s.waiting.peer) for s in standings if s.waiting)
    facts = {"waits": found.waits, "cure": found.cure, "misfit": found.misfit}
    return Failure(None, sentence, found.details, waiting=waiting, **facts), found.certain


def only_echoes(states: Sequence[RankState]) -> bool:
    """Return whether all failures so far are echoes, and their cause may still arrive.

    It can only come from a rank that is still running. False as soon as one has finished, because
    a partner that has gone is cause enough.
    """
    failed = [s for s in states if s.failed]
    waiting = len(failed) < len(states) and not any(s.finished for s in states)
    return waiting and all(s.error is not None and _is_echo(s.error) for s in failed)


def _is_echo(error: Mapping) -> bool:
    # An OSError is a cause, from the program's own files and sockets: torch doesn't raise any.
    kind = getattr(builtins, error["type"], None)
    if isinstance(kind, type) and issubclass(kind, OSError):
        return False
    text = error["text"].lower()
    return any(echo in text for echo in ECHOES)


def unreadable(rank: int, error: BaseException) -> Failure:
    """Return the failure of a rank whose result can't be unpickled."""
    what = ": ".join(part for part in (type(error).__name__, text_of(error)) if part)
    return Failure(
        rank,
        f"the result of rank {rank} came back, but can't be unpickled here ({what}): return "
        "numbers, text, lists or tensors",
        traceback="".join(traceback.format_exception(error)),
    )


def _exit_status(text: str) -> str:
    """Describe the argument of sys.exit: a number, a text, or nothing."""
    if text in ("", "None"):
        return (
            ", with exit status 0: a function ends with return, and sys.exit() ends the whole rank"
        )
    return f", with exit status {text}" if text.lstrip("-").isdigit() else f": {text}"


def _status(status: int | None) -> str:
    if status is None:
        return "it stopped answering"
    if status < 0:
        try:
            name = signal.Signals(-status).name
        except ValueError:
            name = f"signal {-status}"
        return f"it was ended by {name}{OFTEN.get(name, '')}"
    return f"its process ended itself with exit status {status}"


def _others(states: Sequence[RankState], first: RankState) -> str:
    rest = [s for s in states if s is not first]
    stopped = [s.rank for s in rest if not s.finished]
    if not stopped:
        return ""
    return f"  ({names(stopped)} {'was' if len(stopped) == 1 else 'were'} stopped)"
