"""One call of torch.distributed, as plain facts that can travel to another process."""

import math
from dataclasses import dataclass

from helpers.hang.places import NOWHERE, Frame, locate

SENDS = ("send", "isend", "send_object_list")
RECEIVES = ("recv", "irecv", "recv_object_list")
NEW_GROUP = "new_group"
LOCAL = "local "  # how the name begins under which only the members of a new group call new_group
NATIVE = "C++ "  # how the name of a collective begins that has started inside C++


@dataclass(frozen=True, slots=True)
class Operation:
    """What one rank asked for.

    name: what the student called: "irecv", "all_reduce" … kind: what all ranks call a collective.
    peer: the other rank of a message; None for a collective, and for a receive from any rank.
    group: the name of the process group; members: its ranks; world: whether it holds all.
    index: how many came before it on its channel; the two sides of a message have the same.
    shape, dtype: of the tensor, as (4, 3) and "float32"; dtype "" where there is no tensor.
    detail: what else all ranks must agree on: "SUM", "from rank 0".
    place: file, line and function of the student's call; times: how often it was called there.
    gives, takes: how many numbers of a collective's tensors go to each member, and come from each;
        () where this rank gives or takes none.
    """

    name: str
    rank: int
    peer: int | None = None
    group: str = "0"
    members: tuple[int, ...] = ()
    index: int = 0
    tag: int = 0
    shape: tuple[int, ...] = ()
    dtype: str = ""
    detail: str = ""
    place: Frame = NOWHERE
    times: int = 1
    world: bool = True
    gives: tuple[int, ...] = ()
    takes: tuple[int, ...] = ()
    kind: str = ""

    @property
    def sends(self) -> bool:
        return self.name in SENDS

    @property
    def receives(self) -> bool:
        return self.name in RECEIVES

    @property
    def collective(self) -> bool:
        return not (self.sends or self.receives)

    @property
    def native(self) -> bool:
        return self.name.startswith(NATIVE)

    @property
    def count(self) -> int:
        return math.prod(self.shape)

    @property
    def channel(self) -> tuple:
        """Return the channel that it is counted on: operations of one channel match in order."""
        if self.collective:
            return ("collective", self.group)
        return ("send" if self.sends else "recv", self.peer, self.group, self.tag)

    @property
    def tensor(self) -> str:
        """ "4x3 float32"."""
        return f"{'x'.join(map(str, self.shape)) or '1'} {self.dtype}" if self.dtype else "objects"

    @property
    def doing(self) -> str:
        """The words after "rank 0": "sends 4x3 float32 to rank 1"."""
        if not self.collective:
            way = f"sends {self.tensor} to" if self.sends else f"receives {self.tensor} from"
            whom = "any rank" if self.peer is None else f"rank {self.peer}"
            tag = f" with tag {self.tag}" if self.tag else ""
            call = f" ({self.name})" if self.name not in ("send", "recv") else ""
            return f"{way} {whom}{tag}{call}"
        call = self.name + f" of {self.tensor}" * bool(self.dtype)
        call += f" ({self.detail})" if self.detail else ""
        if not self.world and self.name != NEW_GROUP:
            call += f" in the group of ranks {', '.join(map(str, self.members))}"
        return f"calls {call}" + (f" for the {_nth(self.times)} time" if self.times > 1 else "")

    @property
    def at(self) -> str:
        """Return where the student called it: " at line 4 of cell [7]"."""
        return locate([self.place]).phrase

    @property
    def sentence(self) -> str:
        """Return who asks for what, and where: "rank 0 sends 4 float32 to rank 1 at line 3 …"."""
        return f"rank {self.rank} {self.doing}{self.at}"


def _nth(number: int) -> str:
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10 if number % 100 // 10 != 1 else 0, "th")
    return f"{number}{ending}"
