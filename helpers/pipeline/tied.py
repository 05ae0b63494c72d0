"""A weight that the first and the last stage share, such as the embedding of a language model.

Each of the two ranks holds a copy and sees only the gradient of its own use. The gradient of the
one weight is the sum of both, and once both ranks have that sum their copies stay equal.

The two ranks send each other their gradients over the pipeline's own group. They don't need a group
of their own, so no other rank takes part and nothing depends on which groups a rank is in.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist

from helpers.pipeline.transport import find_peers
from helpers.schedules import Schedule

TAG = 2**30  # the executor's tags count up from 0


@dataclass(frozen=True)
class Tie:
    """The other rank that holds a copy of the tied weight.

    group: the process group of the pipeline. peer: the other rank, numbered as in the world.
    sends_first: NCCL runs the messages between two ranks one after the other, so one end must send
        while the other receives.
    """

    group: Any
    peer: int
    sends_first: bool

    def exchange(self, tensor: torch.Tensor) -> torch.Tensor:
        """Send a tensor to the other rank and return the other rank's, of the same shape."""
        theirs = torch.empty_like(tensor)
        messages = [(dist.isend, tensor), (dist.irecv, theirs)]
        ordered = messages if self.sends_first else reversed(messages)
        for work in [start(buffer, self.peer, self.group, TAG) for start, buffer in ordered]:
            work.wait()
        return theirs


def make_tie(schedule: Schedule, group: Any = None) -> Tie | None:
    """Return what `add_tied` needs on the two ranks that hold the first and the last stage.

    It's None on all other ranks, and where one rank holds both stages. No message is sent, so
    any rank may call it at any time. group: the process group of the pipeline; None: all ranks.
    """
    first, last = schedule.rank_of[0], schedule.rank_of[-1]
    peers = find_peers(group)
    if first == last or peers.rank not in (first, last):
        return None
    other = last if peers.rank == first else first
    return Tie(group, peers.names[other], sends_first=peers.rank == first)


def add_tied(copies: Sequence[torch.nn.Parameter], tie: Tie | None) -> None:
    """Set the gradient of each copy of the tied weight to the sum over all copies.

    The sum has the same bits on both ranks. Call it once on both, before the optimizer's step and
    after the last step that accumulates gradients: a second call would add the sum again.

    Args:
        copies: the copies on this rank: one, two where it holds both stages, or none.
        tie: what `make_tie` returned.
    """
    if not copies:
        return
    total = sum(torch.zeros_like(copy) if copy.grad is None else copy.grad for copy in copies)
    if tie is not None:
        total = total.contiguous()
        total = total + tie.exchange(total)
    for copy in copies:
        copy.grad = total.clone()
