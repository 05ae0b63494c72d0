"""Checked mode: ranks compare what they are about to do, and refuse what doesn't fit.

By itself gloo silently fills a part of a buffer that is too large, reinterprets float32 as int32,
and sums tensors that were never meant for each other; a buffer that is too small aborts the
process. So each rank first leaves a note about its operation in torch's key-value store
(`helpers.hang.notes`):

    a collective      every rank leaves a note, and reads those of all others
    a message         the receiver leaves a note, and the sender reads it before it sends

Neither waits for more than the operation itself waits for: a collective needs all its ranks, and
a send of gloo waits for its receive. An asynchronous operation must not wait at all: if the
notes of the others aren't there yet, a thread starts it as soon as they are.

A receive from any rank is not compared: which send it takes is open, and so is what is left for
the receives after it. Nor does an operation with a time limit of its own, monitored_barrier, wait
for notes; it only leaves one.

Not checked: what starts inside C++, as DDP's buckets do. A program that itself starts collectives
asynchronously (async_op=True) in the group that DDP uses should run unchecked: a collective that
waits for notes could begin later than DDP's on one rank, and earlier on another.
"""

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from helpers.hang.deferred import Deferred
from helpers.hang.log import OURS
from helpers.hang.match import Mismatch, collective_misfit, message_misfit
from helpers.hang.notes import Notes, pack, unpack
from helpers.hang.operation import Operation

LOOK_S = 0.0005  # how often the thread looks for the notes of the others; it backs off up to
LOOK_MOST_S = 0.005  # this, because ranks that share a core slow each other down by looking
END_S = 5.0  # how long a process that ends waits for the thread
ANY_S = 0.02  # how often a sender looks whether its receiver takes from any rank


class PreflightCheck:
    """Compare the operations of this rank with those of the others, through notes in `store`.

    Args:
        store: a client of torch's store that nothing else uses.
        mistake: called with the error if a thread finds that something doesn't fit, because the
            program may never wait for an operation that it has started asynchronously.
        timeout: seconds to wait for the notes of others.
    """

    def __init__(self, store, mistake: Callable[[Exception], None], timeout: float):
        self._notes = Notes(store)
        self._mistake, self._timeout = mistake, timeout
        self._begun: dict[str, int] = defaultdict(int)  # by group: collectives begun here
        self._forgotten: dict[str, int] = defaultdict(int)  # by group: own notes deleted
        self._open: set[tuple] = set()  # (group, tag) of receives from any rank that began here
        self._later: list[_Pending] = []
        self._change = threading.Condition()
        self._thread: threading.Thread | None = None
        self._ended = False

    def end(self) -> None:
        """Start nothing more, and wait until the thread has ended."""
        with self._change:
            self._ended = True
            self._change.notify_all()
        if self._thread:
            self._thread.join(END_S)

    def before(self, operation: Operation) -> None:
        """Wait for the others' notes, and return if everything fits.

        Raises:
            Mismatch: if something doesn't.
        """
        self._leave_note(operation)
        if operation.receives:
            return
        self._let_pass(operation.channel)
        self._compare(operation, self._await_notes(operation))

    def announce(self, operation: Operation) -> None:
        """Leave a note about a collective, but wait for no other: it has its own time limit."""
        self._let_pass(operation.channel)
        self._leave_note(operation)
        self._begun[operation.group] = operation.index + 1

    def start(self, operation: Operation, call: Callable[[], Any]) -> Any:
        """Start an asynchronous operation: now if all notes are there and fit, else later."""
        self._leave_note(operation)
        if operation.receives:
            return call()
        with self._change:
            first = not any(p.operation.channel == operation.channel for p in self._later)
        if first and (notes := self._look(operation)):
            self._compare(operation, notes)
            return call()
        return self._postpone(operation, call)

    # --- notes ---------------------------------------------------------------------------------

    def _leave_note(self, operation: Operation) -> None:
        if operation.collective:
            note = [pack(operation), self._begun[operation.group]]
            self._notes.leave(_collective_key(operation, operation.rank), note)
        elif operation.receives:
            if operation.peer is None:
                self._open.add((operation.group, operation.tag))
                self._notes.leave(_any_key(operation.rank, operation), pack(operation))
            elif (operation.group, operation.tag) not in self._open:
                key = _message_key(operation.peer, operation.rank, operation)
                self._notes.leave(key, pack(operation))

    def _look(self, operation: Operation) -> Sequence[Operation] | None:
        """Return the notes that an operation must fit, or None if they aren't all there yet."""
        if operation.collective:
            notes = self._notes.look(_keys_of_others(operation))
            return None if notes is None else self._all_read(operation, notes)
        key = _message_key(operation.rank, operation.peer, operation)
        if notes := self._notes.look([key]):
            self._notes.forget(key)
            return [unpack(*notes)]
        return self._from_any(operation)

    def _from_any(self, send: Operation) -> Sequence[Operation] | None:
        """Return the note of a receive from any rank that the send may meet, or None."""
        notes = self._notes.look([_any_key(send.peer, send)])
        return notes and [unpack(*notes)]

    def _await_notes(self, operation: Operation) -> Sequence[Operation]:
        """Wait for the notes that an operation must fit, and return them."""
        try:
            if operation.collective:
                return self._all_read(operation, self._notes.read(_keys_of_others(operation)))
            return self._await_receive(operation)
        except (TimeoutError, RuntimeError) as error:
            if "timeout" not in str(error).lower():
                raise
            raise TimeoutError(
                f"rank {operation.rank} waited {self._timeout:g} s in {operation.name}"
                f"{operation.at}, but the other side never came"
            ) from None

    def _all_read(self, operation: Operation, notes: list) -> list[Operation]:
        """Return the collective as all ranks call it; delete our notes that every rank has read.

        Once every rank has begun a collective, each has read the notes about it.
        """
        group = operation.group
        read = min([self._begun[group], *(begun for _, begun in notes)])
        self._begun[group] = operation.index + 1
        for index in range(self._forgotten[group], read):
            self._notes.forget(_collective_key(replace(operation, index=index), operation.rank))
        self._forgotten[group] = max(self._forgotten[group], read)
        return [operation, *(unpack(note) for note, _ in notes)]

    def _await_receive(self, send: Operation) -> Sequence[Operation]:
        key = _message_key(send.rank, send.peer, send)
        end = time.monotonic() + self._timeout
        while not (notes := self._look(send)):
            if time.monotonic() > end:
                raise TimeoutError("timeout")
            self._notes.wait(key, ANY_S)
        return notes

    def _compare(self, operation: Operation, notes: Sequence[Operation]) -> None:
        if operation.collective:
            misfit = collective_misfit(notes)
        else:
            misfit = message_misfit(operation, notes[0])
        if misfit and (operation.collective or not self._from_any(operation)):
            from helpers.hang.cases import explain_misfit  # only now: each rank would load them

            raise Mismatch(". ".join(explain_misfit(misfit)), misfit.kind)

    # --- later ---------------------------------------------------------------------------------

    def _postpone(self, operation: Operation, call: Callable[[], Any]) -> Any:
        pending = _Pending(operation, call, Deferred())
        with self._change:
            self._later.append(pending)
            self._change.notify_all()
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, daemon=True, name=OURS)
                self._thread.start()
        return pending.work

    def _let_pass(self, channel: tuple) -> None:
        """Wait until everything started earlier on the same channel has begun."""
        with self._change:
            while any(p.operation.channel == channel for p in self._later):
                self._change.wait()

    def _work(self) -> None:
        """Run in a thread: start what waits for the notes of others, in order on each channel."""
        pause = LOOK_S
        while not self._ended:
            with self._change:
                while not self._later and not self._ended:
                    self._change.wait()
                    pause = LOOK_S
                first = {p.operation.channel: p for p in reversed(self._later)}
            begun = [self._begin(pending) for pending in first.values()]
            pause = LOOK_S if any(begun) else min(1.3 * pause, LOOK_MOST_S)
            time.sleep(pause)

    def _begin(self, pending: "_Pending") -> bool:
        """Start an operation if the notes of the others are there; return whether it is settled."""
        try:
            if not (notes := self._look(pending.operation)):
                return False
            self._compare(pending.operation, notes)
            pending.work.begin(pending.call())
        except Exception as error:  # torch's own too: the program may never wait for it
            pending.work.fail(error)
            self._mistake(error)
        with self._change:
            self._later.remove(pending)
            self._change.notify_all()
        return True


@dataclass(eq=False)
class _Pending:
    """An asynchronous operation that waits for the notes of the others."""

    operation: Operation
    call: Callable[[], Any]
    work: "Deferred"


def _keys_of_others(operation: Operation) -> list[str]:
    others = [rank for rank in operation.members if rank != operation.rank]
    return [_collective_key(operation, rank) for rank in others]


def _collective_key(operation: Operation, rank: int) -> str:
    return f"check/{operation.group}/{operation.index}/{rank}"


def _message_key(source: int, target: int, operation: Operation) -> str:
    return f"check/{operation.group}/{source}>{target}/{operation.tag}/{operation.index}"


def _any_key(target: int, operation: Operation) -> str:
    return f"check/{operation.group}/any>{target}/{operation.tag}"
