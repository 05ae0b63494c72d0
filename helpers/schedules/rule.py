"""The rule of a pipeline, written once: what an action needs, and which messages follow from it.

F of stage s needs the activations that F of stage s-1 computes; B, or I in its place, needs the
gradient that B or I of stage s+1 computes. Where the two stages sit on different ranks, the result
travels as a message: the messages of a schedule follow from its order, and aren't written down.

A pair (F&B) needs what its two actions need: it receives both inputs before it starts, and sends
both results after its end, so that the rank computes on while they travel.
"""

from collections.abc import Container
from functools import cache
from itertools import accumulate
from typing import NamedTuple

from helpers.schedules.schedule import Action, Schedule


class Need(NamedTuple):
    """What an action depends on, for the same micro-batch: one of `kinds`, computed on `stage`."""

    kinds: str
    stage: int


@cache
def needs(kind: str, stage: int, stages: int) -> tuple[Need, ...]:
    """Return the dependencies of an action of this kind on this stage, of `stages` in all.

    They are the same for every micro-batch. Everything else follows from this function: `check`,
    the simulator, the messages, the ready actions of the search.
    """
    if kind == "F":
        return (Need("F", stage - 1),) if stage > 0 else ()
    if kind == "W":
        return (Need("I", stage),)
    own = Need("F", stage)
    return (own, Need("BI", stage + 1)) if stage + 1 < stages else (own,)


@cache
def user_of(kind: str, stage: int, stages: int) -> int | None:
    """Return the other stage that needs the result of an action, or None if no stage does."""
    for other in (stage - 1, stage + 1):
        wanted = {need for each in "FBI" for need in needs(each, other, stages)}
        if 0 <= other < stages and any(kind in k and s == stage for k, s in wanted):
            return other
    return None


def missing(action: Action, stages: int, done: Container[Action]) -> list[tuple[Action, ...]]:
    """Return what an action still waits for; an empty list means that it is ready.

    Each entry is one unmet dependency: the alternatives, any one of which satisfies it.
    """
    kind, stage, i = action
    choices = [
        tuple(Action(each, need.stage, i) for each in need.kinds)
        for need in needs(kind, stage, stages)
    ]
    return [some for some in choices if not any(one in done for one in some)]


def needed_stage(schedule: Schedule, action: Action) -> int | None:
    """Return the neighboring stage whose result this action needs, or None."""
    kind, stage, _ = action
    others = (n.stage for n in needs(kind, stage, schedule.stages) if n.stage != stage)
    return next(others, None)


def source_of(schedule: Schedule, action: Action) -> int | None:
    """Return the rank that computes what an action needs from another stage.

    It may be the action's own rank. None where nothing is needed: for F of the first stage, for B
    and I of the last one, and for W.
    """
    before = needed_stage(schedule, action)
    return None if before is None else schedule.rank_of[before]


def target_of(schedule: Schedule, action: Action) -> int | None:
    """Return the rank that needs the result of an action, or None if no other stage does."""
    after = user_of(action.kind, action.stage, schedule.stages)
    return None if after is None else schedule.rank_of[after]


class Message(NamedTuple):
    """One end of a message, as seen by the rank that sends or receives it.

    kind: "send" or "recv". peer: the rank at the other end.
    action: the rank's own action. A recv comes before it, a send after it; of a pair, both
        receives come before both actions, and both sends after them.
    position: of that action in the rank's order, from 0.
    tag: the same at both ends, and unique within the step.
    """

    kind: str
    peer: int
    action: Action
    position: int
    tag: int


def messages(schedule: Schedule) -> list[list[Message]]:
    """Return for each rank its sends and receives, in the order in which its actions need them."""
    rows = []
    for rank in range(schedule.size):
        row = []
        for position, turn in schedule.turns(rank):
            for number, action in enumerate(turn, position):
                source = source_of(schedule, action)
                if source is not None and source != rank:
                    tag = tag_of(schedule, action)
                    row.append(Message("recv", source, action, number, tag))
            for number, action in enumerate(turn, position):
                target = target_of(schedule, action)
                if target is not None and target != rank:
                    # B and I of a stage have one tag: either of them may be the receiver.
                    kind, stage, i = action
                    receiver = Action(kind, user_of(kind, stage, schedule.stages), i)
                    tag = tag_of(schedule, receiver)
                    row.append(Message("send", target, action, number, tag))
        rows.append(row)
    return rows


def tag_of(schedule: Schedule, action: Action) -> int:
    """Return the tag of the message that an action receives.

    A whole number from 0 to 2 x stages x micro-batches - 1: one for each stage, micro-batch and
    direction.
    """
    number = action.micro_batch * schedule.stages + action.stage
    return 2 * number + (action.kind != "F")


UNTIL = {"backward": "BI", "weights": "BW"}


def in_flight(schedule: Schedule, until: str = "backward") -> list[int]:
    """Return for each rank the most micro-batches whose activations it keeps at one time.

    Counted for each stage: two stages of a rank that keep one micro-batch are two. From F until

    until="backward": B or I, as the papers count in flight;
    until="weights": B or W, for what W needs is kept until W.
    """
    if until not in UNTIL:
        raise ValueError(f"in_flight(until={until!r}): choose 'backward' or 'weights'")
    steps = {"F": 1} | dict.fromkeys(UNTIL[until], -1)
    return [
        max(accumulate(steps.get(action.kind, 0) for action in actions), default=0)
        for actions in schedule.ranks
    ]
