"""The check's side of the workshop: start it, give it jobs, take its answers, end it."""

import os
import queue
import subprocess
import sys
import threading
import traceback
from typing import Any

from helpers.grade.limits import Held
from helpers.grade.parcel import ParcelError, unpack
from helpers.grade.watch import Watch, end_below
from helpers.grade.workshop import MOST_BYTES, Job, Order, main
from helpers.ranks.protocol import LENGTH, send

# What stands in an answer, and of what kind it is.
ANSWER = {"held": dict, "open": list, "results": object, "texts": list}
ANSWER |= dict.fromkeys(("kind", "sentence", "details", "picture", "alt"), str)
START_S = 120.0  # a workshop may take so long to begin: it imports torch, on a busy machine


class WorkFailed(Exception):
    """The work crashed, hung or ended itself.

    kind: "not done" (a stub was called), "time-out", "limit" or "crash".
    sentence: what happened, with rank and line; details: Python's own words, for a person.
    picture: the SVG and the words of a picture of what went wrong, where there is one.
    """

    def __init__(self, kind: str, sentence: str, details: str = "", picture: tuple = ()):
        super().__init__(sentence)
        self.kind, self.sentence, self.details, self.picture = kind, sentence, details, picture


class Workshop:
    """The check's side of the process in which the work lives.

    Made before the check knows any secret, because on Linux it is a copy of the check's process.
    """

    def __init__(self, fork: bool = sys.platform == "linux"):
        if fork:
            self._pid, self._orders, answers = _forked()
            self._process = None
        else:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "helpers.grade.workshop"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                start_new_session=os.name == "posix",
            )
            self._pid, self._orders = self._process.pid, self._process.stdin.fileno()
            answers = self._process.stdout.fileno()
        # One answer for one order: who sends more wants to fill this process's memory.
        self._answers: queue.Queue[bytes | None] = queue.Queue(maxsize=1)
        self._flood = ""
        self._reader = threading.Thread(target=self._read, args=(answers,), daemon=True)
        self._reader.start()
        self._watch: Watch | None = None
        self.answered = False  # whether the work has given a result back

    def open(self, order: Order) -> Held:
        """Let it take on its limits; say which hold. Raises WorkFailed where it cannot begin."""
        self._watch = Watch(self._pid, order.limits)
        said = self._ask(order, START_S)
        if not said.keys() >= {"held", "open"}:
            raise WorkFailed("crash", said.get("sentence", "what came back is no result"))
        return Held(said["held"], said["open"])

    def do(self, job: Job, seconds: float) -> list[Any]:
        """The results of a job. Raises WorkFailed."""
        said = self._ask(job, seconds)
        for text in said.get("texts", ()):  # for the person who reads it, no more
            print(text, end="" if not text or text.endswith("\n") else "\n")
        if "results" in said:
            self.answered = True
            return said["results"]
        picture = (said["picture"], said.get("alt", "")) if "picture" in said else ()
        kind = said.get("kind") if said.get("kind") in ("not done", "time-out") else "crash"
        sentence = said.get("sentence", "what came back is no result")
        raise WorkFailed(kind, sentence, said.get("details", ""), picture)

    def close(self) -> None:
        """End it, and everything that came from it."""
        if self._watch:
            self._watch.stop()
        end_below(self._pid)
        if self._process:
            self._process.wait()
        else:
            try:
                os.waitpid(self._pid, 0)
            except ChildProcessError:
                pass

    def _ask(self, message: Order | Job, seconds: float) -> dict:
        self._refuse_a_flood()
        try:
            send(self._orders, message)
            data = self._answers.get(timeout=seconds)
        except OSError:
            data = None
        except queue.Empty:
            raise WorkFailed(
                "time-out", "the process in which the work lives does not answer any more"
            ) from None
        self._refuse_a_flood()
        if self._watch and self._watch.reason:
            raise WorkFailed("limit", self._watch.reason)
        if data is None:
            raise WorkFailed("crash", "the work ended the process in which it was started")
        try:
            return read_answer(data)
        except ParcelError as error:
            raise WorkFailed("crash", str(error)) from None

    def _refuse_a_flood(self) -> None:
        if self._flood:
            raise WorkFailed("crash", self._flood)

    def _read(self, descriptor: int) -> None:
        """In a thread: take the answers from the pipe."""
        with open(descriptor, "rb", closefd=False) as pipe:
            while len(head := pipe.read(LENGTH.size)) == LENGTH.size:
                (length,) = LENGTH.unpack(head)
                if length > MOST_BYTES:
                    self._flood = f"what came back has more than {MOST_BYTES >> 20} MB"
                    break
                data = pipe.read(length)
                if len(data) != length:
                    break
                try:
                    self._answers.put_nowait(data)
                except queue.Full:
                    self._flood = "what came back is more than was asked for"
                    break
        self._answers.put(None)  # waits where there is no room


def read_answer(data: bytes) -> dict:
    """What a workshop answers: {"held", "open"}, {"results", "texts"} or {"kind", "sentence", …}.

    Raises ParcelError for everything else. What the results are, the check has to see.
    """
    said = unpack(data)
    if not isinstance(said, dict) or not ANSWER.keys() >= said.keys():
        raise ParcelError("what came back is no result")
    for name, value in said.items():
        if not isinstance(value, ANSWER[name]):
            raise ParcelError(f"what came back is no result ({name})")
    if not all(isinstance(text, str) for text in said.get("texts", ())):
        raise ParcelError("what came back is no result (texts)")
    return said


def _forked() -> tuple[int, int, int]:
    """A workshop that is a copy of this process: its pid, and the pipes for orders and answers."""
    from helpers.grade.confine import die_with_parent

    orders, mine = os.pipe()
    answers, theirs = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            die_with_parent()
            os.setsid()
            # Nothing of the check stays open here but the way to print.
            orders, theirs = (_high(number) for number in (orders, theirs))
            nothing = os.open(os.devnull, os.O_RDONLY)
            os.dup2(nothing, 0)
            os.dup2(2, 1)
            os.closerange(3, min(orders, theirs))
            os.closerange(max(orders, theirs) + 1, 1 << 16)
            main(orders, theirs)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(1)
    os.close(orders)
    os.close(theirs)
    return pid, mine, answers


def _high(number: int) -> int:
    """The same pipe under a number of its own, so that all others can be closed."""
    import fcntl

    return fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, 100)
