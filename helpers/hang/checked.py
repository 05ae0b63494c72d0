"""Checked mode: whoever comes second to an operation compares it with those who came before.

By itself gloo silently fills a part of a buffer that is too large, reinterprets float32 as int32,
and sums tensors that were never meant for each other; a buffer that is too small aborts the
process. So each rank leaves a note about its operation in the store of all ranks, and reads those
that are there, in one step (compare_set). Of two that don't fit, the later one sees the earlier,
and refuses before it has done its part. Nobody ever waits for a note, so a legal program stays as
it is. Notes are JSON, never a pickle: the store has no password (see docs/security.md).

A receive from any rank is not compared: which send it takes is open, and so is what is left for the
receives after it. Nor is what starts inside C++, as DDP's buckets do.
"""

import json
import operator
import time
from collections.abc import Sequence
from dataclasses import astuple
from itertools import product

from helpers.hang.cases import MISFITS, group_cure
from helpers.hang.operation import NEW_GROUP, Operation
from helpers.words import capital, many, names

AFTER_S = 2.0  # how long a rank whose parts torch refuses waits for what the others call
_JSON = json.JSONEncoder(default=operator.index)  # integers of NumPy and torch too
FACTS = {  # what all ranks of a collective must agree on; the first disagreement is told
    "collective": lambda op: (op.kind, "object" in op.name),
    "arguments": lambda op: op.detail or None,
    "dtype": lambda op: op.dtype or None,
    "size": lambda op: op.count if op.dtype else None,
}


class Mismatch(RuntimeError):
    """Operations of several ranks don't fit; the message says which, and the cure."""

    def __init__(self, what: str, cure: str):
        super().__init__(f"{what}. {cure}")
        self.what, self.cure = what, cure


def misfit(operations: Sequence[Operation]) -> Mismatch | None:
    """Return why operations that meet don't fit, or None if they do."""
    operations = sorted(operations, key=lambda op: (op.receives, op.rank))
    if (found := _difference(operations)) is None:
        return None
    (what, cure), text = MISFITS[found[0]], found[1]
    for making in [op for op in operations if op.name == NEW_GROUP][:1]:
        cure = capital(group_cure(making))
    return Mismatch(f"{what}: {text}", cure)


def _difference(operations: Sequence[Operation]) -> tuple[str, str] | None:
    """Return what differs, a key of MISFITS, and who does what."""
    if not operations[0].collective:
        send, receive = operations
        if not (send.dtype and receive.dtype):
            return None  # objects: torch sends their size along
        kind = "message too long" if send.count > receive.count else "message too short"
        if send.dtype != receive.dtype:
            kind = "message dtype"
        elif send.count == receive.count:
            return None
        return kind, (
            f"rank {send.rank} sends {send.tensor} to rank {receive.rank}{send.at}, and rank "
            f"{receive.rank} receives {receive.tensor}{receive.at}"
        )
    for kind, fact in FACTS.items():
        alike: dict[object, list[Operation]] = {}
        for operation in operations:
            if (value := fact(operation)) is not None:  # else this rank doesn't say
                alike.setdefault(value, []).append(operation)
        if len(alike) > 1:
            return kind, "; ".join(
                f"{'each of ' if len(same) > 1 else ''}{names([op.rank for op in same])} "
                f"{same[0].doing}{same[0].at}"
                for same in alike.values()
            )
    for giver, taker in product(operations, repeat=2):
        if giver.gives and taker.takes:
            given = giver.gives[giver.members.index(taker.rank)]
            taken = taker.takes[taker.members.index(giver.rank)]
            if given != taken:
                whom = f"rank {taker.rank}, which takes {taken}{taker.at}"
                whom = f"itself and room for {taken}" if giver is taker else whom
                return "part", f"{giver.sentence}, with {many(given, 'number')} for {whom}"
    return None


class Check:
    """Compare the operations of this rank with those of the others, through notes in `store`."""

    def __init__(self, store):
        self._store = store
        self._any: set[tuple] = set()  # where this rank receives from any: its order is open

    def before(self, operation: Operation) -> None:
        """Leave a note, and raise Mismatch if it doesn't fit those that are there."""
        if operation.receives:
            way = (operation.group, operation.tag)
            if operation.peer is None:
                self._any.add(way)
            if way in self._any:
                return
        key, notes, note = _key(operation), "", _JSON.encode(astuple(operation)) + "\n"
        while (there := self._store.compare_set(key, notes, notes + note).decode()) != notes + note:
            notes = there
        *met, mine = _unpacked(there)
        if any(misfit([mine, other]) for other in met):
            raise misfit([*met, mine])
        if operation.collective and misfit([mine]):  # what the others call says more
            self.after(operation)
        if len(met) + 1 == (len(operation.members) if operation.collective else 2):
            self._store.delete_key(key)  # a long program must not fill the store

    def after(self, operation: Operation) -> None:
        """Raise Mismatch if this can't be right, by itself or with what the others call."""
        key, end, met = _key(operation), time.monotonic() + AFTER_S, []
        while len(met) < len(operation.members) and self._store.check([key]):
            met = _unpacked(self._store.get(key).decode())
            if time.monotonic() > end:
                break
            time.sleep(0.02)
        if met and (found := misfit(met)):
            raise found


def _key(operation: Operation) -> str:
    if operation.collective:
        return f"{operation.group}/{operation.index}"
    pair = (operation.rank, operation.peer)[:: 1 if operation.sends else -1]
    return f"{operation.group}/{operation.tag}/{pair}/{operation.index}"


def _unpacked(notes: str) -> list[Operation]:
    """JSON makes lists of the tuples of an operation."""
    each = [json.loads(note) for note in notes.splitlines()]
    return [Operation(*(tuple(v) if isinstance(v, list) else v for v in facts)) for facts in each]
