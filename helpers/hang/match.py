"""Compare operations that meet each other: do they fit, and if not, what differs.

What a reader is told of it is in `cases.explain_misfit`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from helpers.hang.operation import Operation


class Mismatch(RuntimeError):
    """Operations of several ranks don't fit together; the message says which, and the cure.

    misfit: the kind of the `Misfit`.
    """

    def __init__(self, message: str, misfit: str):
        super().__init__(message)
        self.misfit = misfit


@dataclass(frozen=True)
class Misfit:
    """Operations that meet and don't fit.

    kind: what differs, a key of `cases.MISFITS`. groups: the operations, those that agree together;
    of a message, the send and the receive.
    given, taken: how many numbers one rank has for another, and how many that one takes.
    """

    kind: str
    groups: tuple[tuple[Operation, ...], ...]
    given: int = 0
    taken: int = 0


def message_misfit(send: Operation, receive: Operation) -> Misfit | None:
    """Return why the receive can't take what is sent, or None if it can."""
    kind = ""
    if not (send.dtype and receive.dtype):
        return None  # objects: torch sends their size along
    if send.dtype != receive.dtype:
        kind = "message dtype"
    elif send.count != receive.count:
        kind = "message too long" if send.count > receive.count else "message too short"
    return Misfit(kind, ((send,), (receive,))) if kind else None


def collective_misfit(operations: Sequence[Operation]) -> Misfit | None:
    """Return in what the ranks' calls of a collective differ, or None if they don't.

    operations: the operation of each rank of the group that takes part.
    """
    operations = sorted(operations, key=lambda op: op.rank)
    for kind, fact in FACTS.items():
        values = {fact(operation) for operation in operations} - {None}
        if len(values) > 1:
            return Misfit(kind, _alike(operations, fact))
    for giver, taker in product(operations, repeat=2):
        if not (giver.gives and taker.takes):
            continue
        given = giver.gives[giver.members.index(taker.rank)]
        taken = taker.takes[taker.members.index(giver.rank)]
        if given != taken:
            return Misfit("part", ((giver,), (taker,)), given, taken)
    return None


SAME = {  # two names of one collective: torch 2.13 has renamed some
    "all_gather_into_tensor": "all_gather_single",
    "reduce_scatter_tensor": "reduce_scatter_single",
}
# What all ranks must agree on, by kind; the first disagreement is reported.
FACTS = {
    "collective": lambda op: SAME.get(op.name, op.name),
    "arguments": lambda op: op.detail or None,
    "dtype": lambda op: op.dtype or None,
    "size": lambda op: op.count if op.dtype else None,
}


def _alike(operations: Sequence[Operation], fact) -> tuple[tuple[Operation, ...], ...]:
    """Return the operations in groups of those that agree, the group of the lowest rank first."""
    groups: dict[object, list[Operation]] = {}
    for operation in operations:
        groups.setdefault(fact(operation), []).append(operation)
    return tuple(map(tuple, groups.values()))
