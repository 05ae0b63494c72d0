"""Signed notes that the ranks leave for each other in torch's key-value store.

The store has no password: whoever reaches its port may read, write and delete there. So a note is
JSON, never a pickle, and it starts with a signature (HMAC-SHA256 over its name and its text) made
with a key that only the ranks of one launch have. A note that isn't signed with this key, or that
doesn't say what it should, counts as not there.

helpers.ranks draws a key for every launch. For ranks that are started in another way, on several
hosts for example, set LAB_KEY to the same secret text everywhere; without it the key is empty, and
whoever knows this file can sign.
"""

import hashlib
import hmac
import json
import operator
import os
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import fields
from datetime import timedelta
from typing import Any, get_origin, get_type_hints

from helpers.hang.operation import Operation

KEY = "LAB_KEY"
LOOK_S = 0.005  # how often to look again if somebody else has overwritten a note
SIGNATURE = hashlib.sha256().digest_size  # bytes

_JSON = json.JSONEncoder(default=operator.index)  # integers of NumPy and torch too
Parse = Callable[[Any], Any]  # the facts of a note as this rank needs them; ValueError refuses them


class Notes:
    """Read and write the notes of all ranks in `store`.

    The thread that makes this object goes on using `store` itself. Every other thread gets its own
    client, because a call that waits blocks all others of the same client.

    Args:
        store: torch's key-value store.
        key: signs the notes; by default the value of LAB_KEY.
    """

    def __init__(self, store, key: str | None = None):
        key = os.environ.get(KEY, "") if key is None else key
        self._key = key.encode(errors="surrogateescape")
        self._first, self._own = store, threading.local()
        self._own.store = store

    @property
    def _store(self):
        if not hasattr(self._own, "store"):
            self._own.store = self._first.clone()
        return self._own.store

    def leave(self, name: str, facts: Any) -> None:
        """Write a note, in place of any of the same name; facts: anything that JSON can hold."""
        self._store.set(name, self._signed(name, facts))

    def leave_first(self, name: str, facts: Any, parse: Parse) -> Any:
        """Write a note unless there is one; return the one that is there now."""
        note = self._signed(name, facts)
        there = self._read(name, self._store.compare_set(name, "", note), parse)
        if there is None:  # not signed by a rank: it doesn't count
            self._store.set(name, note)
            there = parse(facts)
        return there

    def look(self, names: Sequence[str], parse: Parse) -> list | None:
        """Return the notes if all of them are there, else None; never wait."""
        store = self._store
        if not names:
            return []
        return self._all(names, store.multi_get(names), parse) if store.check(names) else None

    def read(self, names: Sequence[str], parse: Parse) -> list:
        """Wait until all the notes are there and return them.

        Raises:
            RuntimeError: torch's own, if one of them isn't written within the store's timeout.
            TimeoutError: if one is written, but not signed.
        """
        if not names:
            return []
        store, begun = self._store, time.monotonic()
        while (notes := self._all(names, store.multi_get(names), parse)) is None:
            if time.monotonic() - begun > store.timeout.total_seconds():
                raise TimeoutError(f"timeout: no signed note {', '.join(names)}")
            time.sleep(LOOK_S)
        return notes

    def wait(self, name: str, seconds: float) -> bool:
        """Wait until there is a note of this name, signed or not; False after `seconds`."""
        try:
            self._store.wait([name], timedelta(seconds=seconds))
        except RuntimeError:
            return False
        return True

    def unsigned(self, name: str) -> bool:
        """Return whether there is a note of this name that isn't signed with our key."""
        store = self._store
        return store.check([name]) and self._text(name, store.get(name)) is None

    def forget(self, name: str) -> None:
        """Delete a note."""
        self._store.delete_key(name)

    def _all(self, names: Sequence[str], notes: Sequence[bytes], parse: Parse) -> list | None:
        found = [self._read(name, note, parse) for name, note in zip(names, notes, strict=True)]
        return None if any(facts is None for facts in found) else found

    def _read(self, name: str, note: bytes, parse: Parse) -> Any:
        """Return the facts of a note, or None if it doesn't count."""
        text = self._text(name, note)
        try:
            return None if text is None else parse(json.loads(text))
        except (ValueError, TypeError, RecursionError):  # signed, but not what we write
            return None

    def _text(self, name: str, note: bytes) -> bytes | None:
        signature, text = note[:SIGNATURE], note[SIGNATURE:]
        return text if hmac.compare_digest(signature, self._signature(name, text)) else None

    def _signed(self, name: str, facts: Any) -> bytes:
        text = _JSON.encode(facts).encode()
        return self._signature(name, text) + text

    def _signature(self, name: str, text: bytes) -> bytes:
        """Sign a note together with its name, so that a copy under another name doesn't count."""
        named = name.encode()
        return hmac.digest(self._key, b"%d:%s%s" % (len(named), named, text), "sha256")


def text(facts: Any) -> str:
    """Return the facts of a note that holds a text.

    Raises:
        ValueError: if they aren't a text.
    """
    if not isinstance(facts, str):
        raise ValueError("not a text")
    return facts


# --- operations as notes ---


def pack(operation: Operation) -> list:
    """Return the fields of an Operation in order, for JSON."""
    return [getattr(operation, name) for name in FIELDS]


def unpack(facts: Any) -> Operation:
    """Return the Operation that `pack` took apart; nothing in the facts is taken on trust.

    Raises:
        ValueError: if the facts aren't those of an Operation.
    """
    if type(facts) is not list or len(facts) != len(FIELDS):
        raise ValueError(f"an operation has {len(FIELDS)} facts")
    taken = []
    for fact, name, kind in zip(facts, FIELDS, KINDS, strict=True):
        if not isinstance(fact, kind):
            raise ValueError(f"the {name} of an operation can't be {fact!r:.60}")
        if kind is list:
            parts = [str, int, str] if name == "place" else [int] * len(fact)
            if [type(part) for part in fact] != parts:
                raise ValueError(f"the {name} of an operation can't be {fact!r:.60}")
            fact = tuple(fact)
        taken.append(fact)
    return Operation(*taken)


FIELDS = tuple(field.name for field in fields(Operation))
# What JSON makes of each field: of a tuple, a list of integers (`place`: file, line, function).
_HINTS = get_type_hints(Operation)
KINDS = tuple(list if get_origin(_HINTS[name]) is tuple else _HINTS[name] for name in FIELDS)
