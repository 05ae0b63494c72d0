"""Do operations that meet each other fit? If not: one sentence that says who asked for what."""

from collections.abc import Callable, Sequence
from itertools import product

from helpers.hang.operation import LOCAL, NEW_GROUP, Operation
from helpers.hang.places import locate
from helpers.waits.words import capital

Phrase = Callable[[Operation], str]  # " at line 4 of cell [7]"


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
    """What to do about a group that isn't made on all ranks alike."""
    return LOCAL_GROUP_CURE if operation.group.startswith(LOCAL) else NEW_GROUP_CURE


class Mismatch(RuntimeError):
    """Operations of several ranks do not fit together; the message says which, and the cure."""


def place_of(operation: Operation) -> str:
    """The place of an operation, for those who know no cells."""
    return locate([operation.place]).phrase


def message_mismatch(send: Operation, receive: Operation, phrase: Phrase = place_of) -> str | None:
    """None where the receive can take what is sent; else one sentence."""
    if not (send.dtype and receive.dtype):
        return None  # objects: torch sends their size along
    told = (
        f"rank {send.rank} sends {send.tensor} to rank {receive.rank}{phrase(send)}, and rank "
        f"{receive.rank} receives {receive.tensor}{phrase(receive)}"
    )
    if send.dtype != receive.dtype:
        return (
            f"message of another type: {told}. The bits would be read as another type, in "
            "silence: give both tensors the same dtype"
        )
    if send.count > receive.count:
        return (
            f"message too long: {told}. The buffer is too small, which would abort the process: "
            "make it as large as the message"
        )
    if send.count < receive.count:
        return (
            f"message too short: {told}. The rest of the buffer would keep its old numbers, in "
            "silence: make it as large as the message"
        )
    return None


def collective_mismatch(operations: Sequence[Operation], phrase: Phrase = place_of) -> str | None:
    """None where the ranks call the same collective; else one sentence.

    operations: of each rank of the group the one that meets the others'.
    """
    for what, fact, cure in FACTS:
        values = [fact(operation) for operation in operations]
        if len({value for value in values if value is not None}) < 2:
            continue
        told = "; ".join(
            f"{_ranks(same)} {same[0].doing}{phrase(same[0])}" for same in _alike(operations, fact)
        )
        making = [operation for operation in operations if operation.name == NEW_GROUP]
        if making:
            cure = capital(group_cure(making[0]))
        return f"{what}: {told}. {cure}"
    return _part_mismatch(sorted(operations, key=lambda op: op.rank), phrase)


def _part_mismatch(operations: Sequence[Operation], phrase: Phrase) -> str | None:
    """Return one sentence if a rank gives another rank more or less than that one takes."""
    for giver, taker in product(operations, repeat=2):
        if not (giver.gives and taker.takes):
            continue
        given = giver.gives[giver.members.index(taker.rank)]
        taken = taker.takes[taker.members.index(giver.rank)]
        if given != taken:
            other = f"rank {taker.rank}, which takes {taken}{phrase(taker)}"
            if giver is taker:
                other = f"itself and room for {taken}"
            return (
                f"the parts of a collective have different sizes: rank {giver.rank} {giver.doing}"
                f"{phrase(giver)}, with {given} number{'s' * (given != 1)} for {other}. Each part "
                "must be as large as the rank that takes it expects: check the sizes and the "
                "splits; a tensor without splits is cut into equal parts"
            )
    return None


# What all ranks must agree on, in the order in which it is said.
FACTS = (
    (
        "different collectives meet",
        lambda op: op.name,
        "All ranks of a group must call the same collectives in the same order, equally often: "
        "look for a branch that only some ranks take, or a step that one of them skips",
    ),
    (
        "the ranks disagree about a collective",
        lambda op: op.detail,
        "All ranks must give it the same arguments",
    ),
    (
        "the tensors of a collective have different types",
        lambda op: op.dtype or None,
        "Give all ranks tensors of the same dtype",
    ),
    (
        "the tensors of a collective have different sizes",
        lambda op: op.count if op.dtype else None,
        "Give all ranks tensors of the same shape; or do the ranks call their collectives in "
        "another order?",
    ),
)


def _alike(operations: Sequence[Operation], fact) -> list[list[Operation]]:
    """The operations in groups of those that agree, the group of the lowest rank first."""
    groups: dict[object, list[Operation]] = {}
    for operation in sorted(operations, key=lambda op: op.rank):
        groups.setdefault(fact(operation), []).append(operation)
    return list(groups.values())


def _ranks(operations: Sequence[Operation]) -> str:
    numbers = [str(operation.rank) for operation in operations]
    if len(numbers) == 1:
        return f"rank {numbers[0]}"
    return f"each of ranks {', '.join(numbers[:-1])} and {numbers[-1]}"
