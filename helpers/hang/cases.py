"""The words of a hang: what ranks have done wrong, case by case, and the cure.

To add a deadlock, write its function and name it in `CASES`: from the `GlobalSnapshot` and the
`Deadlock` in it, it returns what happened and the cure, or None; the first that answers wins.
"""

from collections.abc import Callable, Iterator, Sequence

from helpers.hang.match import Misfit
from helpers.hang.operation import LOCAL, NEW_GROUP, Operation
from helpers.hang.wait_for_graph import NATIVE, GlobalSnapshot
from helpers.waits import Deadlock, Wait
from helpers.words import capital, names

Told = tuple[str, str] | None  # what happened, and the cure


def crossed_tags(snapshot: GlobalSnapshot, deadlock: Deadlock) -> Told:
    """One rank sends with a tag, and the other receives with a different one."""
    for _, mine in _core(snapshot, deadlock):
        theirs = snapshot.crossing(mine)
        if theirs:
            send, receive = (mine, theirs) if mine.sends else (theirs, mine)
            return (
                f"rank {send.rank} sends to rank {receive.rank} with tag {send.tag}"
                f"{send.at}, and rank {receive.rank} receives with tag {receive.tag}"
                f"{receive.at}: they never meet",
                "use the same tag on both sides",
            )
    return None


def sends_in_a_circle(snapshot: GlobalSnapshot, deadlock: Deadlock) -> Told:
    """Every rank of the cycle sends, and its receiver sends too."""
    mine = _of_cycle(snapshot, deadlock)
    if not mine or not all(op.sends for op in mine):
        return None
    ranks = names(sorted(op.rank for op in mine))
    if len(mine) == 2:
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


def receives_in_a_circle(snapshot: GlobalSnapshot, deadlock: Deadlock) -> Told:
    """Every rank of the cycle receives, and nobody has sent."""
    mine = _of_cycle(snapshot, deadlock)
    if not mine or not all(op.receives for op in mine):
        return None
    ranks = names(sorted(op.rank for op in mine))
    both = "both" if len(mine) == 2 else "all"
    return (
        f"deadlock: {ranks} {both} receive first, and what each waits for is sent by a rank that "
        "receives too",
        "let one of them send first",
    )


def groups_in_another_order(snapshot: GlobalSnapshot, deadlock: Deadlock) -> Told:
    """Collectives of several groups, called in different orders."""
    mine = _of_cycle(snapshot, deadlock)
    if not mine or not all(op.collective for op in mine) or len({op.group for op in mine}) < 2:
        return None
    text = ", ".join(
        f"rank {op.rank} {op.doing}{' in the group of all ranks' * op.world}{op.at}" for op in mine
    )
    return (
        f"deadlock: the ranks call the collectives of their groups in different orders: {text}",
        "let all ranks call the collectives of several groups in the same order",
    )


def message_against_collective(snapshot: GlobalSnapshot, deadlock: Deadlock) -> Told:
    """Some ranks of the cycle are in a collective, others in a message."""
    mine = _of_cycle(snapshot, deadlock)
    if not mine or len({op.collective for op in mine}) < 2:
        return None
    text = ", while ".join(op.sentence for op in mine)
    return (
        f"deadlock: {text}: each waits for what the other would do next",
        "send and receive before all of them call the collective, or after it, on both sides alike",
    )


def left_early(snapshot: GlobalSnapshot, deadlock: Deadlock) -> Told:
    """A rank has finished, and others wait for it."""
    if not deadlock.ended:
        return None
    wait, operation = next(_core(snapshot, deadlock))
    gone = [rank for rank in wait.needs if rank in deadlock.ended]
    it, has, their = ("it", "has", "its") if len(gone) == 1 else ("they", "have", "their")
    if operation.receives:
        return (
            f"{operation.sentence}, and {names(gone)} {has} finished without sending it",
            f"let {names(gone)} send it (look at {their} branches and at the number of steps), or "
            "do not receive it",
        )
    if operation.sends:
        return (
            f"{operation.sentence}, and {names(gone)} {has} finished without receiving it",
            f"let {names(gone)} receive it, or do not send it",
        )
    return (
        f"{names(gone)} left early: {it} {has} finished already, while rank {wait.who} "
        f"{operation.doing}{_native(operation, wait)}",
        "every rank of the group must call it as often as the others: do all ranks have the same "
        "number of steps, and does none of them return, break or skip (continue) early?",
    )


def group_not_made(snapshot: GlobalSnapshot, deadlock: Deadlock) -> Told:
    """Every rank must call new_group, and some haven't."""
    for wait, operation in _core(snapshot, deadlock):
        if operation.name == NEW_GROUP:
            return (
                f"rank {wait.who} is in dist.new_group ({operation.detail})"
                f"{operation.at}, but {names(wait.needs)} never called it",
                group_cure(operation),
            )
    return None


def step_ahead(snapshot: GlobalSnapshot, deadlock: Deadlock) -> Told:
    """One rank has reached the same line more often than another."""
    for wait, operation in _core(snapshot, deadlock):
        mine = snapshot.standings[wait.who].calls.get((operation.place, operation.name), 0)
        for other in (snapshot.standings.get(rank) for rank in wait.needs):
            if not other or not operation.collective or not other.waiting:
                continue
            theirs = other.calls.get((operation.place, operation.name), 0)
            if 0 < theirs < mine:
                return (
                    f"rank {wait.who} is ahead of rank {other.rank}: it {operation.doing}"
                    f"{operation.at}, where rank {other.rank} has been {theirs} "
                    f"time{'s' * (theirs != 1)} only; {other.waiting.sentence}",
                    "let all ranks do the same number of steps: look for a continue, a break or "
                    "a condition that only some ranks meet",
                )
    return None


def member_missing(snapshot: GlobalSnapshot, deadlock: Deadlock) -> Told:
    """A collective, and a member of its group that does something else."""
    for wait, operation in _core(snapshot, deadlock):
        if not operation.collective:
            continue
        missing = names(wait.needs)
        others = "; ".join(
            s.waiting.sentence
            for s in (snapshot.standings.get(rank) for rank in wait.needs)
            if s and s.waiting
        )
        return (
            f"{operation.sentence}, but {missing} never called it" + (f": {others}" * bool(others)),
            "every member of the group must call it; make a group of only those that do, or let "
            f"{missing} call it too",
        )
    return None


def nobody_serves(snapshot: GlobalSnapshot, deadlock: Deadlock) -> tuple[str, str]:
    """The last case: a message whose other side does something else."""
    wait = deadlock.core[0] if deadlock.core else deadlock.waits[0]
    operation = snapshot.standings[wait.who].waiting
    other = snapshot.standings.get(wait.needs[0])
    instead = f", while {other.waiting.sentence}" if other and other.waiting else ""
    return (
        f"{operation.sentence}, and nobody answers{instead}",
        "each send needs its receive on the other rank, and each receive its send: check the "
        "ranks, the tags and the order",
    )


CASES: tuple[Callable[[GlobalSnapshot, Deadlock], Told], ...] = (
    crossed_tags,
    sends_in_a_circle,
    receives_in_a_circle,
    group_not_made,
    step_ahead,
    groups_in_another_order,
    left_early,
    message_against_collective,
    member_missing,
    nobody_serves,
)


def still_at_work(waiting: Sequence[int], busy: Sequence[int]) -> tuple[str, str]:
    """No deadlock as far as is known: one computes, or a message is in transit."""
    if not waiting or not busy:
        return "the ranks were still at work", ""
    return (
        f"{names(waiting)} wait{'s' * (len(waiting) == 1)} for others, and {names(busy)} "
        f"{'is' if len(busy) == 1 else 'are'} still at work",
        "if that is intended, give the launch more time (timeout=…)",
    )


NEW_GROUP_CURE = (
    "every rank must call dist.new_group, with the same ranks and in the same order, also the "
    "ranks that do not belong to the group"
)
LOCAL_GROUP_CURE = (
    "with use_local_synchronization every member must call dist.new_group, with the same ranks and "
    "after equally many groups, as torch finds the members by both; or leave it out, and let all "
    "ranks call it"
)
MISFITS = {  # operations that meet and don't fit, by what differs
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


def explain_misfit(found: Misfit) -> tuple[str, str]:
    """Return what doesn't fit, and the cure."""
    what, cure = MISFITS[found.kind]
    (one, *_), (other, *_), *_ = found.groups
    if found.kind.startswith("message"):
        text = (
            f"rank {one.rank} sends {one.tensor} to rank {other.rank}{one.at}, and rank "
            f"{other.rank} receives {other.tensor}{other.at}"
        )
    elif found.kind == "part":
        whom = f"rank {other.rank}, which takes {found.taken}{other.at}"
        whom = f"itself and room for {found.taken}" if one is other else whom
        text = f"{one.sentence}, with {found.given} number{'s' * (found.given != 1)} for {whom}"
    else:
        text = "; ".join(
            f"{'each of ' if len(same) > 1 else ''}{names([op.rank for op in same])} "
            f"{same[0].doing}{same[0].at}"
            for same in found.groups
        )
        making = [op for same in found.groups for op in same if op.name == NEW_GROUP]
        cure = capital(group_cure(making[0])) if making else cure
    return f"{what}: {text}", cure


def group_cure(operation: Operation) -> str:
    """Return the cure for a group that the ranks don't create alike."""
    return LOCAL_GROUP_CURE if operation.group.startswith(LOCAL) else NEW_GROUP_CURE


def _core(snapshot: GlobalSnapshot, deadlock: Deadlock) -> Iterator[tuple[Wait, Operation]]:
    """Yield the waits that explain the others, each with what its rank waits for."""
    return ((wait, snapshot.standings[wait.who].waiting) for wait in deadlock.core)


def _of_cycle(snapshot: GlobalSnapshot, deadlock: Deadlock) -> list[Operation]:
    return [snapshot.standings[wait.who].waiting for wait in deadlock.cycle]


def _native(operation: Operation, wait: Wait) -> str:
    """Return where a wait is; for a collective that C++ has started, the line that led to it."""
    if not operation.name.startswith(NATIVE):
        return operation.at
    return f", started inside C++ by {wait.where}" if wait.where else ", started inside C++"
