"""Compare operations that meet each other; if they don't fit, say in one sentence why."""

from collections.abc import Sequence
from itertools import product

from helpers.hang.operation import LOCAL, NEW_GROUP, Operation
from helpers.words import capital, names

NEW_GROUP_CURE = (
    "every rank must call dist.new_group, with the same ranks and in the same order, also the "
    "ranks that do not belong to the group"
)
LOCAL_GROUP_CURE = (
    "with use_local_synchronization every member must call dist.new_group, with the same ranks and "
    "after equally many groups, as torch finds the members by both; or leave it out, and let all "
    "ranks call it"
)


def group_cure(operation: Operation) -> str:
    """Return the cure for a group that the ranks don't create alike."""
    return LOCAL_GROUP_CURE if operation.group.startswith(LOCAL) else NEW_GROUP_CURE


class Mismatch(RuntimeError):
    """Operations of several ranks don't fit together; the message says which, and the cure."""


def message_mismatch(send: Operation, receive: Operation) -> str | None:
    """Return one sentence if the receive can't take what is sent, else None."""
    if not (send.dtype and receive.dtype):
        return None  # objects: torch sends their size along
    told = (
        f"rank {send.rank} sends {send.tensor} to rank {receive.rank}{send.at}, and rank "
        f"{receive.rank} receives {receive.tensor}{receive.at}"
    )
    if send.dtype != receive.dtype:
        return (
            f"dtype mismatch: {told}. gloo would silently reinterpret the bytes: give both tensors "
            "the same dtype"
        )
    if send.count > receive.count:
        return (
            f"message too long: {told}. The buffer is too small, and gloo would abort the process: "
            "make it as large as the message"
        )
    if send.count < receive.count:
        return (
            f"message too short: {told}. The rest of the buffer would silently keep its old "
            "numbers: make it as large as the message"
        )
    return None


def collective_mismatch(operations: Sequence[Operation]) -> str | None:
    """Return one sentence if the ranks don't call the same collective, else None.

    operations: the operation of each rank of the group that takes part.
    """
    for what, fact, cure in FACTS:
        values = [fact(operation) for operation in operations]
        if len({value for value in values if value is not None}) < 2:
            continue
        told = "; ".join(
            f"{_ranks(same)} {same[0].doing}{same[0].at}" for same in _alike(operations, fact)
        )
        making = [operation for operation in operations if operation.name == NEW_GROUP]
        if making:
            cure = capital(group_cure(making[0]))
        return f"{what}: {told}. {cure}"
    return _part_mismatch(sorted(operations, key=lambda op: op.rank))


def _part_mismatch(operations: Sequence[Operation]) -> str | None:
    """Return one sentence if a rank gives another rank more or less than that one takes."""
    for giver, taker in product(operations, repeat=2):
        if not (giver.gives and taker.takes):
            continue
        given = giver.gives[giver.members.index(taker.rank)]
        taken = taker.takes[taker.members.index(giver.rank)]
        if given != taken:
            other = f"rank {taker.rank}, which takes {taken}{taker.at}"
            if giver is taker:
                other = f"itself and room for {taken}"
            return (
                f"the parts of a collective have different sizes: {giver.told}, "
                f"with {given} number{'s' * (given != 1)} for {other}. Each part "
                "must be as large as the rank that takes it expects: check the sizes and the "
                "splits; a tensor without splits is cut into equal parts"
            )
    return None


SAME = {  # two names of one collective: torch 2.13 has renamed some
    "all_gather_into_tensor": "all_gather_single",
    "reduce_scatter_tensor": "reduce_scatter_single",
}
# What all ranks must agree on; the first disagreement is reported.
FACTS = (
    (
        "different collectives meet",
        lambda op: SAME.get(op.name, op.name),
        "All ranks of a group must call the same collectives in the same order, equally often: "
        "look for a branch that only some ranks take, or a step that one of them skips",
    ),
    (
        "the ranks disagree about a collective",
        lambda op: op.detail or None,
        "All ranks must pass the same arguments",
    ),
    (
        "the tensors of a collective have different dtypes",
        lambda op: op.dtype or None,
        "Give all ranks tensors of the same dtype",
    ),
    (
        "the tensors of a collective have different sizes",
        lambda op: op.count if op.dtype else None,
        "Give all ranks tensors of the same shape; or do the ranks call their collectives in "
        "different orders?",
    ),
)


def _alike(operations: Sequence[Operation], fact) -> list[list[Operation]]:
    """Return the operations in groups of those that agree, the group of the lowest rank first."""
    groups: dict[object, list[Operation]] = {}
    for operation in sorted(operations, key=lambda op: op.rank):
        groups.setdefault(fact(operation), []).append(operation)
    return list(groups.values())


def _ranks(operations: Sequence[Operation]) -> str:
    told = names([operation.rank for operation in operations])
    return told if len(operations) == 1 else f"each of {told}"
