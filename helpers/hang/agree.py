"""Checked mode: ranks compare what they are about to do, and refuse what does not fit.

gloo itself fills a part of a buffer that is too large, reads float32 as int32, and sums tensors
that were never meant for each other, all in silence; a buffer that is too small ends the process.
So each rank first leaves a note about its operation in torch's key-value store:

    a collective      everyone leaves a note, and reads those of all others
    a message         the receiver leaves a note, and the sender reads it before it sends

Neither waits for more than the operation itself waits for: a collective needs all its ranks, and
a send of gloo waits for its receive. What was started asynchronously must not wait at all; where
the notes of the others are not there yet, a thread starts it as soon as they are.

Not checked: what starts inside C++, as DDP's buckets do. A program that starts collectives of its
own asynchronously (async_op=True) in the group that DDP uses should run unchecked: a collective
that waits for notes could begin later than DDP's on one rank, and earlier on another.
"""

import pickle
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from helpers.hang.match import Mismatch, Phrase, collective_mismatch, message_mismatch, place_of
from helpers.hang.operation import Operation

LOOK_S = 0.0005  # how often the thread looks for the notes of the others: more and more seldom,
LOOK_MOST_S = 0.005  # for ranks that share a core take it from each other by looking
ANY_S = 0.02  # how often a sender looks whether its receiver takes from any rank


class Agreement:
    """The notes of this rank and of the others, in `store`.

    mistake: called with the error where a thread finds that something does not fit: nobody may
    ever wait for an operation that was started asynchronously.
    timeout: seconds to wait for the notes of others.
    """

    def __init__(
        self,
        store,
        mistake: Callable[[Exception], None],
        timeout: float,
        phrase: Phrase = place_of,
    ):
        self._store = store.clone()  # of its own: a call that waits would block the others
        self._mistake, self._timeout, self._phrase = mistake, timeout, phrase
        self._begun: dict[str, int] = defaultdict(int)  # by group: collectives begun here
        self._forgotten: dict[str, int] = defaultdict(int)  # by group: own notes deleted
        self._later: list[_Pending] = []
        self._change = threading.Condition()
        self._thread: threading.Thread | None = None

    def before(self, operation: Operation) -> None:
        """Wait for the others' notes; return where everything fits. Raises Mismatch."""
        self._leave_note(operation)
        if operation.receives:
            return
        self._let_pass(operation.channel)
        notes = self._await_notes(self._store, operation)
        self._compare(operation, notes)

    def start(self, operation: Operation, call: Callable[[], Any]) -> Any:
        """Start an asynchronous operation: now where everything fits already, else later."""
        self._leave_note(operation)
        if operation.receives:
            return call()
        with self._change:
            first = not any(p.operation.channel == operation.channel for p in self._later)
        if first and self._all_there(self._store, operation):
            self._compare(operation, self._await_notes(self._store, operation))
            return call()
        return self._postpone(operation, call)

    # --- notes ---------------------------------------------------------------------------------

    def _leave_note(self, operation: Operation) -> None:
        if operation.collective:
            note = pickle.dumps((operation, self._begun[operation.group]))
            self._store.set(_collective_key(operation, operation.rank), note)
        elif operation.receives:
            note = pickle.dumps(operation)
            if operation.peer is None:
                self._store.set(_any_key(operation.rank, operation), note)
            else:
                self._store.set(_message_key(operation.peer, operation.rank, operation), note)

    def _await_notes(self, store, operation: Operation) -> Sequence[Operation]:
        """The notes that an operation must fit to, as soon as they are there.

        store: the calling thread's own, for a call that waits blocks all others of the same store.
        """
        try:
            if operation.collective:
                keys = [_collective_key(operation, rank) for rank in operation.members]
                notes = [pickle.loads(note) for note in store.multi_get(keys)]
                self._forget(store, operation, min(begun for _, begun in notes))
                return [note for note, _ in notes]
            return [self._await_receive(store, operation)]
        except RuntimeError as error:
            if "timeout" not in str(error).lower():
                raise
            raise TimeoutError(
                f"rank {operation.rank} waited {self._timeout:g} s in {operation.name}"
                f"{self._phrase(operation)}, and the other side never came"
            ) from None

    def _forget(self, store, operation: Operation, read: int) -> None:
        """Delete the own notes about collectives that everyone has begun, and so has read."""
        group = operation.group
        self._begun[group] = operation.index + 1
        for index in range(self._forgotten[group], read):
            store.delete_key(_collective_key(replace(operation, index=index), operation.rank))
        self._forgotten[group] = max(self._forgotten[group], read)

    def _await_receive(self, store, send: Operation) -> Operation:
        key, any_key = _message_key(send.rank, send.peer, send), _any_key(send.peer, send)
        end = time.monotonic() + self._timeout
        while not store.check([key]):
            if store.check([any_key]):  # it takes from any rank: which one comes is open
                return pickle.loads(store.get(any_key))
            try:
                store.wait([key], timedelta(seconds=ANY_S))
            except RuntimeError:
                if time.monotonic() > end:
                    raise
        note = pickle.loads(store.get(key))
        store.delete_key(key)
        return note

    def _all_there(self, store, operation: Operation) -> bool:
        if operation.collective:
            return store.check([_collective_key(operation, rank) for rank in operation.members])
        return store.check([_message_key(operation.rank, operation.peer, operation)]) or (
            store.check([_any_key(operation.peer, operation)])
        )

    def _compare(self, operation: Operation, notes: Sequence[Operation]) -> None:
        if operation.collective:
            mistake = collective_mismatch(notes, self._phrase)
        else:
            mistake = message_mismatch(operation, notes[0], self._phrase)
        if mistake:
            raise Mismatch(mistake)

    # --- later ---------------------------------------------------------------------------------

    def _postpone(self, operation: Operation, call: Callable[[], Any]) -> Any:
        from helpers.hang.deferred import Deferred

        pending = _Pending(operation, call, Deferred())
        with self._change:
            self._later.append(pending)
            self._change.notify_all()
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, daemon=True, name="agreement")
                self._thread.start()
        return pending.work

    def _let_pass(self, channel: tuple) -> None:
        """Wait until what was started before on the same channel has begun."""
        with self._change:
            while any(p.operation.channel == channel for p in self._later):
                self._change.wait()

    def _work(self) -> None:
        """In a thread: start what waits for the notes of others, in order on each channel."""
        store, pause = self._store.clone(), LOOK_S
        while True:
            with self._change:
                while not self._later:
                    self._change.wait()
                    pause = LOOK_S
                first = {p.operation.channel: p for p in reversed(self._later)}
            ready = [p for p in first.values() if self._all_there(store, p.operation)]
            for pending in ready:
                self._begin(store, pending)
            pause = LOOK_S if ready else min(1.3 * pause, LOOK_MOST_S)
            time.sleep(pause)

    def _begin(self, store, pending: "_Pending") -> None:
        try:
            self._compare(pending.operation, self._await_notes(store, pending.operation))
            pending.work.begin(pending.call())
        except Exception as error:  # torch's own too: nobody may ever wait for it
            pending.work.fail(error)
            self._mistake(error)
        with self._change:
            self._later.remove(pending)
            self._change.notify_all()


@dataclass(eq=False)
class _Pending:
    """An operation that waits for the notes of the others."""

    operation: Operation
    call: Callable[[], Any]
    work: Any = field(default=None)


def _collective_key(operation: Operation, rank: int) -> str:
    return f"check/{operation.group}/{operation.index}/{rank}"


def _message_key(source: int, target: int, operation: Operation) -> str:
    return f"check/{operation.group}/{source}>{target}/{operation.tag}/{operation.index}"


def _any_key(target: int, operation: Operation) -> str:
    return f"check/{operation.group}/any>{target}/{operation.tag}"
