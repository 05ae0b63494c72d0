"""What stopped, in words and as a picture, with the cure.

Each case is a small function: it gets the `Scene` and the `Knot` in it, and gives what happened
and what to do, or None where the case is another one. To add a case, write one and name it in
`CASES`; the first that answers is told.
"""

from collections.abc import Callable
from dataclasses import dataclass

from helpers.draw import Picture
from helpers.hang.match import group_cure
from helpers.hang.needs import NATIVE, Scene
from helpers.hang.operation import NEW_GROUP, Operation
from helpers.hang.rows import capital, picture_of, rows
from helpers.waits import Knot, Wait
from helpers.waits.words import names

Case = Callable[[Scene, Knot], "tuple[str, str] | None"]


@dataclass(frozen=True)
class Story:
    """certain: nothing that any rank can still do will end it.

    sentence: what happened. cure: what to do. rows: where each rank stands. picture: who waits
    for whom, or None where nobody waits.
    """

    certain: bool
    sentence: str
    cure: str
    rows: str
    picture: Picture | None

    @property
    def details(self) -> str:
        """What stands below the sentence."""
        return "\n".join(part for part in (self.rows, self.cure and f"  Cure: {self.cure}") if part)


def tell(scene: Scene) -> Story:
    """The story of a scene in which nothing has moved for a while."""
    waits = scene.waits()
    knot, proven = scene.knot()
    mismatch = scene.mismatch()
    certain = proven or (bool(mismatch) and not any(s.threads for s in scene.standings.values()))
    if mismatch:
        sentence, cure = mismatch.rsplit(". ", 1)
    elif knot:
        sentence, cure = next(told for case in CASES if (told := case(scene, knot)))
    else:
        sentence, cure = _slow(scene, waits)
    return Story(certain, sentence, cure, rows(scene), picture_of(scene, waits, sentence))


# --- cases ---------------------------------------------------------------------------------------


def crossed_tags(scene: Scene, knot: Knot) -> tuple[str, str] | None:
    """One sends with a tag, the other receives with another."""
    for wait in knot.core:
        mine = scene.standings[wait.who].waiting
        theirs = scene.crossing(mine)
        if theirs:
            send, receive = (mine, theirs) if mine.sends else (theirs, mine)
            return (
                f"rank {send.rank} sends to rank {receive.rank} with tag {send.tag}"
                f"{scene.phrase(send)}, and rank {receive.rank} receives with tag {receive.tag}"
                f"{scene.phrase(receive)}: they never meet",
                "use the same tag on both sides",
            )
    return None


def sends_in_a_circle(scene: Scene, knot: Knot) -> tuple[str, str] | None:
    """Every rank of the cycle sends, and its receiver sends too."""
    mine = _of_cycle(scene, knot)
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


def receives_in_a_circle(scene: Scene, knot: Knot) -> tuple[str, str] | None:
    """Every rank of the cycle receives, and nobody has sent."""
    mine = _of_cycle(scene, knot)
    if not mine or not all(op.receives for op in mine):
        return None
    ranks = names(sorted(op.rank for op in mine))
    both = "both" if len(mine) == 2 else "all"
    return (
        f"deadlock: {ranks} {both} receive first, and what each waits for is sent by a rank that "
        "receives too",
        "let one of them send first",
    )


def groups_in_another_order(scene: Scene, knot: Knot) -> tuple[str, str] | None:
    """Collectives of two groups, called in one order here and in another order there."""
    mine = _of_cycle(scene, knot)
    if not mine or not all(op.collective for op in mine) or len({op.group for op in mine}) < 2:
        return None
    told = ", ".join(
        f"rank {op.rank} {op.doing}{' in the group of all ranks' * op.world}{scene.phrase(op)}"
        for op in mine
    )
    return (
        f"deadlock: the ranks call the collectives of their groups in another order: {told}",
        "let all ranks call the collectives of several groups in the same order",
    )


def message_against_collective(scene: Scene, knot: Knot) -> tuple[str, str] | None:
    """Some ranks of the cycle are in a collective, others in a message."""
    mine = _of_cycle(scene, knot)
    if not mine or len({op.collective for op in mine}) < 2:
        return None
    told = ", while ".join(f"rank {op.rank} {op.doing}{scene.phrase(op)}" for op in mine)
    return (
        f"deadlock: {told}: each waits for what the other would do next",
        "send and receive before all of them call the collective, or after it, on both sides alike",
    )


def left_early(scene: Scene, knot: Knot) -> tuple[str, str] | None:
    """A rank has finished, and others wait for it."""
    if not knot.ended:
        return None
    wait = knot.core[0]
    operation = scene.standings[wait.who].waiting
    gone = [rank for rank in wait.needs if rank in knot.ended]
    it, has, their = ("it", "has", "its") if len(gone) == 1 else ("they", "have", "their")
    if operation.receives:
        return (
            f"rank {wait.who} {operation.doing}{scene.phrase(operation)}, and {names(gone)} {has} "
            f"finished without sending it",
            f"let {names(gone)} send it (look at {their} branches and at the number of steps), or "
            "do not receive it",
        )
    if operation.sends:
        return (
            f"rank {wait.who} {operation.doing}{scene.phrase(operation)}, and {names(gone)} {has} "
            "finished without receiving it",
            f"let {names(gone)} receive it, or do not send it",
        )
    return (
        f"{names(gone)} left early: {it} {has} finished already, while rank {wait.who} "
        f"{operation.doing}{_native(scene, wait)}",
        "every rank of the group must call it as often as the others: do all ranks have the same "
        "number of steps, and does none of them return, break or skip (continue) early?",
    )


def group_not_made(scene: Scene, knot: Knot) -> tuple[str, str] | None:
    """new_group is for all ranks, and some did not call it."""
    for wait in knot.core:
        operation = scene.standings[wait.who].waiting
        if operation.name == NEW_GROUP:
            return (
                f"rank {wait.who} makes a group ({operation.detail}){scene.phrase(operation)}, and "
                f"{names(wait.needs)} did not come",
                group_cure(operation),
            )
    return None


def step_ahead(scene: Scene, knot: Knot) -> tuple[str, str] | None:
    """Two ranks at different collectives, of which one was called more often here than there."""
    for wait in knot.core:
        operation = scene.standings[wait.who].waiting
        mine = scene.standings[wait.who].calls.get(operation.place, 0)
        for other in (scene.standings.get(rank) for rank in wait.needs):
            if not other or not operation.collective or not other.waiting:
                continue
            theirs = other.calls.get(operation.place, 0)
            if 0 < theirs < mine:
                return (
                    f"rank {wait.who} is ahead of rank {other.rank}: it {operation.doing}"
                    f"{scene.phrase(operation)}, where rank {other.rank} has been {theirs} "
                    f"time{'s' * (theirs != 1)} only; rank {other.rank} "
                    f"{other.waiting.doing}{scene.phrase(other.waiting)}",
                    "let all ranks do the same number of steps: look for a continue, a break or "
                    "a condition that only some ranks meet",
                )
    return None


def member_missing(scene: Scene, knot: Knot) -> tuple[str, str] | None:
    """A collective of a group, and a member that does something else."""
    for wait in knot.core:
        operation = scene.standings[wait.who].waiting
        if not operation.collective:
            continue
        missing = names(wait.needs)
        others = "; ".join(
            f"rank {s.rank} {s.waiting.doing}{scene.phrase(s.waiting)}"
            for s in (scene.standings.get(rank) for rank in wait.needs)
            if s and s.waiting
        )
        return (
            f"rank {wait.who} {operation.doing}{scene.phrase(operation)}, and {missing} did not "
            "come" + (f": {others}" * bool(others)),
            "every member of the group must call it; make a group of only those that do, or let "
            f"{missing} call it too",
        )
    return None


def nobody_serves(scene: Scene, knot: Knot) -> tuple[str, str]:
    """The last case: a message whose other side does something else."""
    wait = knot.core[0] if knot.core else knot.waits[0]
    operation = scene.standings[wait.who].waiting
    other = scene.standings.get(wait.needs[0])
    instead = ""
    if other and other.waiting:
        instead = f", while rank {other.rank} {other.waiting.doing}{scene.phrase(other.waiting)}"
    return (
        f"rank {wait.who} {operation.doing}{scene.phrase(operation)}, and nobody answers{instead}",
        "each send needs its receive on the other rank, and each receive its send: check the "
        "ranks, the tags and the order",
    )


CASES: tuple[Case, ...] = (
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


# --- words ---------------------------------------------------------------------------------------


def _of_cycle(scene: Scene, knot: Knot) -> list[Operation]:
    return [scene.standings[wait.who].waiting for wait in knot.cycle]


def _slow(scene: Scene, waits: list[Wait]) -> tuple[str, str]:
    """Nobody is stuck for certain: somebody computes, or a message is on its way."""
    busy = [s.rank for s in scene.standings.values() if s.rank not in {w.who for w in waits}]
    if not waits or not busy:
        return "the ranks were still at work", ""
    verb = "is" if len(busy) == 1 else "are"
    return (
        f"{names([w.who for w in waits])} wait{'s' * (len(waits) == 1)} for others, and "
        f"{names(busy)} {verb} still at work",
        "if that is as it should be, give the launch more time (timeout=…)",
    )


def _native(scene: Scene, wait: Wait) -> str:
    """For a collective that started inside C++ there is a line of Python that it stands in."""
    operation = scene.standings[wait.who].waiting
    if not operation.name.startswith(NATIVE):
        return scene.phrase(operation)
    return f", started inside C++ by {wait.where}" if wait.where else ", started inside C++"
