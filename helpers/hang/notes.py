"""Notes that the ranks leave for each other in torch's key-value store.

A note is JSON, never a pickle: the store has no password, so whoever reaches its port may write
there, and what is read must not be able to run anything. docs/security.md says what else it may do.
"""

import json
import operator
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import fields
from datetime import timedelta
from typing import Any

from helpers.hang.operation import Operation

_JSON = json.JSONEncoder(default=operator.index)  # integers of NumPy and torch too


class Notes:
    """Read and write the notes of all ranks in `store`, torch's key-value store.

    The thread that makes this object goes on using `store` itself. Every other thread gets its own
    client, because a call that waits blocks all others of the same client.
    """

    def __init__(self, store):
        self._first, self._own = store, threading.local()
        self._own.store = store

    @property
    def _store(self):
        if not hasattr(self._own, "store"):
            self._own.store = self._first.clone()
        return self._own.store

    def leave(self, name: str, facts: Any) -> None:
        """Write a note, in place of any of the same name; facts: anything that JSON can hold."""
        self._store.set(name, _JSON.encode(facts))

    def leave_first(self, name: str, facts: Any) -> Any:
        """Write a note unless there is one; return the one that is there now."""
        return json.loads(self._store.compare_set(name, "", _JSON.encode(facts)))

    def look(self, names: Sequence[str]) -> list | None:
        """Return the notes if all of them are there, else None; never wait."""
        return self.read(names) if not names or self._store.check(names) else None

    def read(self, names: Sequence[str]) -> list:
        """Wait until all the notes are there and return them.

        Raises:
            RuntimeError: torch's own, if one of them isn't written within the store's timeout.
        """
        return [json.loads(note) for note in self._store.multi_get(names)] if names else []

    def wait(self, name: str, seconds: float) -> None:
        """Wait until there is a note of this name, but for no longer than `seconds`."""
        with suppress(RuntimeError):
            self._store.wait([name], timedelta(seconds=seconds))

    def forget(self, name: str) -> None:
        """Delete a note."""
        self._store.delete_key(name)


# --- operations as notes ---


def pack(operation: Operation) -> list:
    """Return the fields of an Operation in order, for JSON."""
    return [getattr(operation, field.name) for field in fields(Operation)]


def unpack(facts: list) -> Operation:
    """Return the Operation that `pack` took apart: JSON makes lists of its tuples."""
    return Operation(*(tuple(fact) if isinstance(fact, list) else fact for fact in facts))
