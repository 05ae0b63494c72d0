"""A weight that the first and the last stage share, as embedding and head of a language model do.

Each of the two holds a copy, and sees the gradient of its own use alone. The gradient of the one
weight is the sum of both. With it on both sides, the copies stay equal.
"""

from collections.abc import Sequence
from typing import Any

import torch
import torch.distributed as dist

from helpers.pipeline.peers import find_peers
from helpers.schedules import Schedule


def make_tie(schedule: Schedule, group: Any = None) -> Any:
    """The process group of the two ranks that hold the first and the last stage.

    None on all other ranks, and where one rank holds both. Every rank of the pipeline may call it;
    those two must. group: of the pipeline; None: all ranks.
    """
    ends = {schedule.rank_of[0], schedule.rank_of[-1]}
    peers = find_peers(group)
    if len(ends) == 1 or peers.rank not in ends:
        return None
    names = [peers.names[rank] for rank in sorted(ends)]
    return dist.new_group(names, use_local_synchronization=True)


def add_tied(copies: Sequence[torch.nn.Parameter], tie: Any) -> None:
    """Give each copy of the tied weight the sum of all copies' gradients.

    copies: those on this rank: one, or two where it holds both stages, or none. tie: of `make_tie`.
    Call it once before the optimizer's step, after all steps that add up: a second call would add
    what has been added already.
    """
    if not copies:
        return
    total = sum(torch.zeros_like(copy) if copy.grad is None else copy.grad for copy in copies)
    if tie is not None:
        dist.all_reduce(total, group=tie)
    for copy in copies:
        copy.grad = total.clone()
