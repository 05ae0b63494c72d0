"""The ranks that a call names: do they exist, and do they belong to its group?

gloo and NCCL would wait for a rank that doesn't exist until their time-out, or end the process.
So a call that names one is refused before anything is sent.
"""

from collections.abc import Sequence
from typing import Any

from helpers.hang.operation import RECEIVES, SENDS
from helpers.waits.words import names


class NoSuchRank(ValueError):
    """A call names a rank that it can't reach; the message gives the ranks that it can."""


def check_peer(name: str, rank: int, peer: Any, members: Sequence[int], world: bool) -> None:
    """Refuse the other rank of a message, or the root of a collective, if it isn't there.

    name: the function of torch.distributed that rank `rank` calls. peer: the global rank that it
    names; None is torch's own default. members: the global ranks of the group; world: whether
    they are all ranks.

    Raises NoSuchRank.
    """
    if not isinstance(peer, int):
        return  # None; or something that torch itself refuses
    if peer not in members:
        there = f"its group holds {names(members)}"
        if world:
            several = len(members) > 1
            there = f"the ranks are {_range(members)}" if several else "there is only rank 0"
        raise NoSuchRank(
            f"rank {rank} {_does(name)} rank {peer}, but {there}: "
            f"{_cure(name, rank, peer, members, world)}"
        )
    if peer == rank and name in (*SENDS, *RECEIVES):
        raise NoSuchRank(
            f"rank {rank} {_does(name)} itself, which torch.distributed can't do: copy the tensor, "
            "or name another rank"
        )


def check_group_peer(name: str, rank: int, peer: Any, members: Sequence[int]) -> None:
    """The same for a rank that is counted within the group, as group_dst is.

    Raises NoSuchRank.
    """
    if isinstance(peer, int) and not 0 <= peer < len(members):
        raise NoSuchRank(
            f"rank {rank} {_does(name)} group rank {peer}, but the group's own ranks are "
            f"{_range(range(len(members)))}: they count the members of the group"
        )


def _does(name: str) -> str:
    """The words between the two ranks."""
    if name in SENDS:
        return "sends to"
    if name in RECEIVES:
        return "receives from"
    return f"calls {name} {'to' if name in ('reduce', 'gather', 'gather_object') else 'from'}"


def _cure(name: str, rank: int, peer: int, members: Sequence[int], world: bool) -> str:
    size = len(members)
    if not world:
        return "name one of them by its global rank, or use a group that holds both"
    if name in (*SENDS, *RECEIVES) and size > 1:
        if peer == size and rank == size - 1:
            return f"let the last rank skip it, or take (rank + 1) % {size} for a ring"
        if peer == -1 and rank == 0:
            return f"let rank 0 skip it, or take (rank - 1) % {size} for a ring"
    return "name one of these" if size > 1 else "start more ranks"


def _range(members: Sequence[int]) -> str:
    return f"{members[0]} to {members[-1]}"
