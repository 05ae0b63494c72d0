"""Every sentence on hangs and misfits, and the cures.

To add a deadlock, write its function and name it in `CASES`: from the `Snapshot` of a deadlock it
returns what happened and the cure, or None; the first that answers wins.
"""

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from helpers.hang.operation import LOCAL, NEW_GROUP, RECEIVES, SENDS, Operation
from helpers.hang.places import Frame, locate
from helpers.plain_errors import BROKE, is_echo
from helpers.words import capital, many, names, say_seconds

if TYPE_CHECKING:
    from helpers.hang.verdict import Snapshot

Told = tuple[str, str] | None  # what happened, and the cure


def crossed_tags(found: "Snapshot") -> Told:
    """Two ranks have posted equally many messages for each other, but not with the same tags."""
    for _, mine in found.core:
        side = ("recv" if mine.sends else "send", mine.rank, mine.group)
        own, others = found.by_tag(mine.rank, mine.channel[:3]), found.by_tag(mine.peer, side)
        equal = own.total() == others.total()
        if equal and (ahead := sorted(tag for tag in others - own if tag != mine.tag)):
            theirs = found.known[mine.peer].latest[*side, ahead[0]]
            send, receive = (mine, theirs) if mine.sends else (theirs, mine)
            return (
                f"rank {send.rank} sends to rank {receive.rank} with tag {send.tag}{send.at}, and "
                f"rank {receive.rank} receives with tag {receive.tag}{receive.at}: they never meet",
                "use the same tag on both sides",
            )
    return None


def messages_in_a_circle(found: "Snapshot") -> Told:
    """Every rank of the cycle sends, and its receiver sends too; or all of them receive."""
    mine = found.cycle
    ranks, two = names(sorted(op.rank for op in mine)) if mine else "", len(mine) == 2
    if mine and all(op.receives for op in mine):
        return (
            f"deadlock: {ranks} {'both' if two else 'all'} receive first, and what each waits for "
            "is sent by a rank that receives too",
            "let one of them send first",
        )
    if not mine or not all(op.sends for op in mine):
        return None
    if two:
        return (
            f"deadlock: {ranks} both send first. A send ends when its receive has begun, and "
            "neither rank gets to its receive",
            "let one of the two receive first; or start the sends with dist.isend, and wait() "
            "for them after the receives; or give both to dist.batch_isend_irecv",
        )
    return (
        f"deadlock: a ring of sends. {capital(ranks)} all send first, each to the next, and none "
        "gets to its receive",
        "let every second rank receive first; or start the sends with dist.isend, and wait() for "
        "them after the receives",
    )


def group_not_made(found: "Snapshot") -> Told:
    """Every rank must call new_group, and some haven't."""
    for wait, op in found.core:
        if op.name == NEW_GROUP:
            does = f"rank {wait.who} is in dist.new_group ({op.detail}){op.at}"
            return f"{does}, but {names(wait.needs)} never called it", group_cure(op)
    return None


def step_ahead(found: "Snapshot") -> Told:
    """One rank has reached the same line more often than another."""
    for wait, mine in found.core:
        for other in (found.waiting[rank] for rank in wait.needs if rank in found.waiting):
            called = found.known[other.rank].collectives.get(mine.group, [])
            alike = [op.times for op in called if (op.place, op.name) == (mine.place, mine.name)]
            if mine.collective and alike and alike[-1] < mine.times:
                return (
                    f"rank {wait.who} is ahead of rank {other.rank}: it {mine.doing}{mine.at}, "
                    f"where rank {other.rank} has been {many(alike[-1], 'time')} only; "
                    f"{other.sentence}",
                    "let all ranks do the same number of steps: look for a continue, a break or "
                    "a condition that only some ranks meet",
                )
    return None


def groups_in_another_order(found: "Snapshot") -> Told:
    """Collectives of several groups, called in different orders."""
    mine = found.cycle
    if not all(op.collective for op in mine) or len({op.group for op in mine}) < 2:
        return None
    text = ", ".join(
        f"rank {op.rank} {op.doing}{' in the group of all ranks' * op.world}{op.at}" for op in mine
    )
    return (
        f"deadlock: the ranks call the collectives of their groups in different orders: {text}",
        "let all ranks call the collectives of several groups in the same order",
    )


def left_early(found: "Snapshot") -> Told:
    """A rank has finished, and others wait for it."""
    if not found.deadlock.ended:
        return None
    wait, operation = found.core[0]
    ended = [rank for rank in wait.needs if rank in found.deadlock.ended]
    gone = names(ended)
    it, has, their = ("it", "has", "its") if len(ended) == 1 else ("they", "have", "their")
    if not operation.collective:
        theirs, mine = ("receive", "send") if operation.sends else ("send", "receive")
        return (
            f"{operation.sentence}, and {gone} {has} finished without {theirs.rstrip('e')}ing it",
            f"let {gone} {theirs} it (look at {their} branches and at the number of steps), or do "
            f"not {mine} it",
        )
    where = operation.at
    if operation.native:
        where = f", started inside C++{f' by {wait.where}' * bool(wait.where)}"
    return (
        f"{gone} left early: {it} {has} finished already, while rank {wait.who} {operation.doing}"
        f"{where}",
        "every rank of the group must call it as often as the others: do all ranks have the same "
        "number of steps, and does none of them return, break or skip (continue) early?",
    )


def message_against_collective(found: "Snapshot") -> Told:
    """Some ranks of the cycle are in a collective, others in a message."""
    if len({op.collective for op in found.cycle}) < 2:
        return None
    each = ", while ".join(op.sentence for op in found.cycle)
    return (
        f"deadlock: {each}: each waits for what the other would do next",
        "send and receive before all of them call the collective, or after it, on both sides alike",
    )


def nobody_answers(found: "Snapshot") -> tuple[str, str]:
    """The last case: the other ranks do something else."""
    # A collective says more than a message, and most if Python has started it, and not C++.
    wait, operation = min(
        found.core or [(wait, found.waiting[wait.who]) for wait in found.deadlock.waits],
        key=lambda pair: (not pair[1].collective, pair[1].native),
    )
    missing = names(wait.needs)
    others = [found.waiting[rank].sentence for rank in wait.needs if rank in found.waiting]
    if operation.collective:
        return (
            f"{operation.sentence}, but {missing} never called it"
            + f": {'; '.join(others)}" * bool(others),
            "every member of the group must call it; make a group of only those that do, or let "
            f"{missing} call it too",
        )
    return (
        f"{operation.sentence}, and nobody answers"
        + f", while {''.join(others[:1])}" * bool(others),
        "each send needs its receive on the other rank, and each receive its send: check the "
        "ranks, the tags and the order",
    )


CASES: tuple[Callable[["Snapshot"], Told], ...] = (
    crossed_tags, messages_in_a_circle, group_not_made, step_ahead, groups_in_another_order,
    left_early, message_against_collective, nobody_answers,
)  # fmt: skip


def still_at_work(waiting: Sequence[int], busy: Sequence[int]) -> tuple[str, str]:
    """No deadlock as far as is known: one computes, or a message is in transit."""
    if not waiting or not busy:
        return "the ranks were still at work", ""
    return (
        f"{names(waiting)} wait{'s' * (len(waiting) == 1)} for others, and {names(busy)} "
        f"{'is' if len(busy) == 1 else 'are'} still at work",
        "if that is intended, give the launch more time (timeout=…)",
    )


# --- operations that meet and don't fit, by what differs -----------------------------------------

MISFITS = {
    "message dtype": (
        "dtype mismatch",
        "gloo would silently reinterpret the bytes: give both tensors the same dtype",
    ),
    "message too long": (
        "message too long",
        "The buffer is too small, and gloo would abort the process: make it as large as the "
        "message",
    ),
    "message too short": (
        "message too short",
        "The rest of the buffer would silently keep its old numbers: make it as large as the "
        "message",
    ),
    "collective": (
        "different collectives meet",
        "All ranks of a group must call the same collectives in the same order, equally often: "
        "look for a branch that only some ranks take, or a step that one of them skips",
    ),
    "arguments": (
        "the ranks disagree about a collective",
        "All ranks must pass the same arguments",
    ),
    "dtype": (
        "the tensors of a collective have different dtypes",
        "Give all ranks tensors of the same dtype",
    ),
    "size": (
        "the tensors of a collective have different sizes",
        "Give all ranks tensors of the same shape; or do the ranks call their collectives in "
        "different orders?",
    ),
    "part": (
        "the parts of a collective have different sizes",
        "Each part must be as large as the rank that takes it expects: check the sizes and the "
        "splits; a tensor without splits is cut into equal parts",
    ),
}


def group_cure(operation: Operation) -> str:
    """Return the cure for a group that the ranks don't create alike."""
    if operation.group.startswith(LOCAL):
        return (
            "with use_local_synchronization every member must call dist.new_group, with the same "
            "ranks and after equally many groups, as torch finds the members by both; or leave it "
            "out, and let all ranks call it"
        )
    return (
        "every rank must call dist.new_group, with the same ranks and in the same order, also the "
        "ranks that do not belong to the group"
    )


def no_such_rank(
    name: str, rank: int, peer: int | None, inside: int | None, members: Sequence[int], world: bool
) -> str:
    """Return the sentence on a rank that a call can't reach: peer, or inside, counted in its group.

    name: the function that rank `rank` calls. world: its group holds all.
    """
    to = "to" if name in ("reduce", "gather", "gather_object") else "from"
    does = f"rank {rank} calls {name} {to}"
    if messages := name in (*SENDS, *RECEIVES):
        does = f"rank {rank} {'sends to' if name in SENDS else 'receives from'}"
    size, last = len(members), members[-1]
    if peer in members:
        cure = "copy the tensor, or name another rank"
        return f"{does} itself, which torch.distributed can't do: {cure}"
    if inside is not None:
        return (
            f"{does} group rank {inside}, but the group's own ranks are 0 to {size - 1}: they "
            "count the members of the group"
        )
    if not world:
        return (
            f"{does} rank {peer}, but its group holds {names(members)}: name one of them by its "
            "global rank, or use a group that holds both"
        )
    if size == 1:
        return f"{does} rank {peer}, but there is only rank 0: start more ranks"
    cure = "name one of these"
    if messages and (rank, peer) == (last, size):
        cure = f"let the last rank skip it, or take (rank + 1) % {size} for a ring"
    if messages and (rank, peer) == (0, -1):
        cure = f"let rank 0 skip it, or take (rank - 1) % {size} for a ring"
    return f"{does} rank {peer}, but the ranks are 0 to {last}: {cure}"


# --- waits and messages of ranks that nobody asks ------------------------------------------------

LATE_MESSAGE = re.compile(r"(?:Timed out waiting|wait timeout after) (\d+)ms")


def whom(operation: Operation) -> str:
    """Return the ranks that an operation waits for, in words: "rank 1", "one of ranks 1 and 2"."""
    if operation.peer is not None and not operation.collective:
        return f"rank {operation.peer}"
    others = [rank for rank in operation.members if rank != operation.rank]
    return f"{'one of ' * (len(others) > 1)}{names(others)}" if others else "itself"


def message_missed(operation: Operation, since: Frame, text: str, all_of_it: bool) -> str:
    """Return which message didn't come, where gloo says `text`; "" for any other error.

    all_of_it: also if its connection broke or the group's own time is over.
    """
    doing, late = f"rank {operation.rank} {operation.doing}", LATE_MESSAGE.search(text)
    if "timeout caused pair closure" in text:
        return (
            f"{doing}, but an earlier wait on the same connection ran out of time, and gloo then "
            "closes the connection for good: wait() without a time limit for messages, or give "
            "the group a longer one"
        )
    if not all_of_it or not (late or is_echo(text)):
        return ""
    doing += locate([since]).phrase
    if late:
        took = "{} took no message" if operation.sends else "no message came from {}"
        seconds = say_seconds(int(late.group(1)) / 1000)
        return f"{took.format(whom(operation))} within {seconds}: {doing}"
    return BROKE.format(whom=whom(operation), doing=f": {doing}")
