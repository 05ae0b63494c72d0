"""Which rank failed first, where, and how to say it."""

import linecache
import signal
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

# What torch says on a rank whose partner has gone: the echo of a failure, not its cause.
ECHOES = (
    "connection closed by peer",
    "connection reset by peer",
    "connection refused",
    "broken pipe",
    "socket closed",
    "remote process exited",
    "connection was likely closed",
)

Frames = Sequence[tuple[str, int, str]]


@dataclass(frozen=True)
class Failure:
    """How a launch failed.

    rank: the rank that failed first, or None where no single rank did (a time-out).
    sentence: what happened, in one sentence, with the line.
    details: the source line, what became of the other ranks.
    traceback: Python's own, of the rank that failed first.
    """

    rank: int | None
    sentence: str
    details: str = ""
    traceback: str = ""

    def __str__(self) -> str:
        return self.sentence + ("\n" + self.details if self.details else "")


class RankFailed(RuntimeError):
    """A launch failed; `failure` says which rank failed first, and where."""

    def __init__(self, failure: Failure):
        super().__init__(str(failure))
        self.failure = failure

    def _render_traceback_(self) -> list[str]:
        """What a notebook shows: the rank's story, not the inside of the launcher."""
        return ["RankFailed: " + str(self.failure)]


@dataclass
class RankState:
    """What is known about one rank while a job runs."""

    rank: int
    result: bytes | None = None
    error: dict | None = None  # as `worker.describe` made it
    status: int | None = None  # exit status, once the process has ended
    running: bool = False  # whether the job itself has begun
    stack: Frames = field(default_factory=list)

    @property
    def finished(self) -> bool:
        return self.result is not None

    @property
    def failed(self) -> bool:
        return self.error is not None or (self.status is not None and not self.finished)


def first_failure(states: Sequence[RankState], cells: Mapping[str, str]) -> Failure:
    """The failure to show, from the states of all ranks after at least one has failed.

    An error that only says that a connection broke is an echo: a rank that was killed, or that
    failed with an error of its own, comes before it.  Among several, the earliest counts.
    cells: file name -> name to show, for code that stands in a notebook.
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
    where = locate(error["frames"], cells)
    text = error["text"].strip()
    sentence = f"rank {state.rank} failed first{where.phrase}: {error['type']}: {text}"
    if error["type"] == "SystemExit":
        sentence = f"rank {state.rank} ended itself{where.phrase}, with exit status {text}"
    elif state in echoes and (gone := [s.rank for s in states if s.finished]):
        sentence = (
            f"rank {state.rank} lost its partner{where.phrase}: "
            f"{rank_names(gone)} had returned already, and "
            f"{'is' if len(gone) == 1 else 'are'} no longer there to answer"
        )
    details = "\n".join(part for part in (where.line, others) if part)
    return Failure(state.rank, sentence, details, error["traceback"])


def timed_out(states: Sequence[RankState], seconds: float, cells: Mapping[str, str]) -> Failure:
    """The failure to show when the time was over: where each rank stood."""
    lines = []
    for state in states:
        if state.finished:
            lines.append(f"  rank {state.rank} had finished")
        elif state.stack:
            where = locate(state.stack, cells)
            lines.append(f"  rank {state.rank} stood{where.phrase or ' outside of your code'}")
            lines += [where.line] if where.line else []
        else:
            lines.append(f"  rank {state.rank} did not answer")
    sentence = f"the ranks did not finish within {seconds:g} s, and were stopped"
    return Failure(None, sentence, "\n".join(lines))


def rank_names(ranks: Sequence[int]) -> str:
    """[1] -> "rank 1"; [0, 2] -> "ranks 0 and 2"."""
    if len(ranks) == 1:
        return f"rank {ranks[0]}"
    return f"ranks {', '.join(map(str, ranks[:-1]))} and {ranks[-1]}"


@dataclass(frozen=True)
class Where:
    """A place in the student's code: " at line 4 of cell [7], in train", and the line itself."""

    phrase: str = ""
    line: str = ""


def locate(frames: Frames, cells: Mapping[str, str]) -> Where:
    """The innermost frame that is the student's own code; else the innermost of any."""
    frames = [f for f in frames if not f[0].startswith("<frozen")]
    mine = [f for f in frames if f[0] in cells or not _is_library(f[0])]
    if not mine:
        return Where()
    name, number, function = mine[-1]
    place = cells.get(name, Path(name).name)
    inside = f", in {function}" if function not in ("", "<module>") else ""
    source = linecache.getline(name, number).rstrip()
    line = f"  {number:>4} | {source}" if source.strip() else ""
    return Where(f" at line {number} of {place}{inside}", line)


def _is_library(name: str) -> bool:
    """Whether a file belongs to Python, to an installed package, or to this lab's own library."""
    path = Path(name)
    if name.startswith("<"):
        return True
    home = Path(__file__).resolve().parents[2]
    paths = sysconfig.get_paths()
    library = [paths["stdlib"], paths["platstdlib"], paths["purelib"], paths["platlib"]]
    library += [str(home / "helpers"), str(home / "simplellm"), sys.base_prefix + "/lib/python"]
    return any(str(path).startswith(prefix) for prefix in library)


def _is_echo(error: Mapping) -> bool:
    text = error["text"].lower()
    return any(echo in text for echo in ECHOES)


def _status(status: int | None) -> str:
    if status is None:
        return "it did not answer any more"
    if status < 0:
        try:
            name = signal.Signals(-status).name
        except ValueError:
            name = f"signal {-status}"
        more = " (often: the machine ran out of memory)" if name == "SIGKILL" else ""
        return f"it was ended by {name}{more}"
    return f"its process ended itself with exit status {status}"


def _others(states: Sequence[RankState], first: RankState) -> str:
    rest = [s for s in states if s is not first]
    stopped = [s.rank for s in rest if not s.finished]
    if not stopped:
        return ""
    return f"  ({rank_names(stopped)} {'was' if len(stopped) == 1 else 'were'} stopped)"
