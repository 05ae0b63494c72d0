"""The messages of a schedule: they follow from its order, nobody writes them.

F of stage s gives the activations that F of stage s+1 needs; B or I of stage s gives the gradient
that B or I of stage s-1 needs. Where both stages sit on one rank, no message is sent.
"""

from typing import NamedTuple

from helpers.schedules.action import Action
from helpers.schedules.schedule import Schedule


class Message(NamedTuple):
    """One end of a message, as the rank sees it that sends or receives.

    kind: "send" or "recv". peer: the rank at the other end.
    action: the rank's own action. A recv comes before it, a send after it.
    position: of that action in the rank's order, from 0.
    tag: the same at both ends, and of no other message of the step.
    """

    kind: str
    peer: int
    action: Action
    position: int
    tag: int


def messages(schedule: Schedule) -> list[list[Message]]:
    """For each rank, its sends and receives in the order in which its actions need them."""
    rows = []
    for rank, actions in enumerate(schedule.ranks):
        row = []
        for position, action in enumerate(actions):
            source, target = source_of(schedule, action), target_of(schedule, action)
            if source is not None and source != rank:
                tag = tag_of(schedule, action)
                row.append(Message("recv", source, action, position, tag))
            if target is not None and target != rank:
                tag = tag_of(schedule, _consumer(action))
                row.append(Message("send", target, action, position, tag))
        rows.append(row)
    return rows


def crossed_links(schedule: Schedule) -> list[tuple[int, int]]:
    """The links (from rank, to rank) whose messages are needed in another order than they are sent.

    Gloo and MPI match messages by tag, and do not mind. NCCL has no tags: there, receives on such
    a link must be posted in the order of the sends, or the tensors change places unnoticed.
    """
    sent: dict[tuple[int, int], list[int]] = {}
    needed: dict[tuple[int, int], list[int]] = {}
    for rank, row in enumerate(messages(schedule)):
        for message in row:
            if message.kind == "send":
                sent.setdefault((rank, message.peer), []).append(message.tag)
            else:
                needed.setdefault((message.peer, rank), []).append(message.tag)
    return sorted(link for link in sent if sent[link] != needed[link])


def tag_of(schedule: Schedule, action: Action) -> int:
    """The tag of the message that an action receives: one for each stage, micro-batch, direction.

    A whole number from 0 to 2 x stages x micro-batches - 1.
    """
    number = action.micro_batch * schedule.stages + action.stage
    return 2 * number + (action.kind != "F")


def source_of(schedule: Schedule, action: Action) -> int | None:
    """The rank that computes what the action needs from the next stage or the one before.

    It may be the action's own rank. None where nothing is needed: F of the first stage, B and I of
    the last one, W.
    """
    before = needed_stage(schedule, action)
    return None if before is None else schedule.rank_of[before]


def target_of(schedule: Schedule, action: Action) -> int | None:
    """The rank that needs what the action gives; None where nobody does."""
    kind, stage, _ = action
    after = stage + 1 if kind == "F" else stage - 1
    if kind == "W" or not 0 <= after < schedule.stages:
        return None
    return schedule.rank_of[after]


def needed_stage(schedule: Schedule, action: Action) -> int | None:
    """The stage whose F (for an F), or B or I (for a B or I), must come first; None if none."""
    kind, stage, _ = action
    before = stage - 1 if kind == "F" else stage + 1
    return before if kind != "W" and 0 <= before < schedule.stages else None


def _consumer(action: Action) -> Action:
    """The action that receives what this one sends; of I and B either will do for the tag."""
    step = 1 if action.kind == "F" else -1
    return Action(action.kind, action.stage + step, action.micro_batch)
