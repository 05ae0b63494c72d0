"""Who the other ranks of a pipeline are, and whether they are about to do the same."""

import hashlib
from dataclasses import dataclass, replace
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed import distributed_c10d as c10d

from helpers.schedules import Schedule


@dataclass(frozen=True)
class Peers:
    """The ranks of one pipeline, numbered as in the schedule, from 0.

    rank, size: this rank's number, and how many there are.
    names: of each rank its number in the world, as torch's functions want it.
    device: where the tensors of messages must lie.
    down, up: the groups that carry messages to a higher and to a lower rank.
    tags: whether messages have tags.
    """

    rank: int = 0
    size: int = 1
    names: tuple[int, ...] = (0,)
    device: torch.device = torch.device("cpu")
    down: Any = None
    up: Any = None
    tags: bool = True

    def link(self, source: int, target: int) -> Any:
        """The group that carries messages from one rank to another."""
        return self.down if source < target else self.up


def find_peers(group: Any = None) -> Peers:
    """Return the ranks of a process group; None: of all. One rank alone needs no connection.

    It sends nothing, so any rank may call it at any time.
    """
    if not (dist.is_available() and dist.is_initialized()):
        return Peers()
    names = tuple(dist.get_process_group_ranks(group))
    return Peers(dist.get_rank(group), len(names), names, down=group, up=group)


def connect_both_ways(peers: Peers) -> Peers:
    """Return the peers with the groups that their backend needs. All of them must call it."""
    if peers.size == 1 or "nccl" not in dist.get_backend(peers.down):
        return peers
    device = torch.device("cuda", torch.cuda.current_device())
    return replace(group_each_way(peers), device=device)


def group_each_way(peers: Peers) -> Peers:
    """Return the peers with a group for each direction, and without tags. All of them must call it.

    NCCL has no tags, and it runs the messages between two ranks one after the other: a receive that
    was posted ahead would hold up every send behind it. So each direction gets its own group.

    torch names a group that is made by its members alone after them and after the number of groups
    that the process has, and ranks that arrive at different names wait for each other forever. So
    the ranks agree on the number first: those in fewer groups add groups of themselves alone.
    """
    counts: list[Any] = [None] * peers.size
    dist.all_gather_object(counts, len(c10d._world.pg_names), peers.down)
    for _ in range(max(counts) - counts[peers.rank]):
        dist.new_group([peers.names[peers.rank]], use_local_synchronization=True)
    up = dist.new_group(list(peers.names), use_local_synchronization=True)
    return replace(peers, up=up, tags=False)


def require_stages(schedule: Schedule, stages: dict[int, nn.Module], peers: Peers) -> None:
    """ValueError, one sentence, unless this rank has the stages that the schedule gives it."""
    if schedule.size != peers.size:
        raise ValueError(
            f"the schedule {schedule.name} is for {schedule.size} ranks and this group has "
            f"{peers.size}: start {schedule.size}, or build the schedule for {peers.size}"
        )
    needed, given = set(schedule.stages_of(peers.rank)), set(stages)
    for wrong, words in ((needed - given, "is missing"), (given - needed, "does not belong here")):
        if wrong:
            raise ValueError(
                f"on rank {peers.rank} stage {min(wrong)} {words}: {schedule.name} puts "
                f"{_listed(needed)} on it, and it was given {_listed(given)}"
            )


def require_agreement(
    schedule: Schedule, stages: dict[int, nn.Module], peers: Peers, group
) -> None:
    """Compare with all ranks, once. ValueError, the same sentence on all, if two differ."""
    if peers.size == 1:
        return
    order = repr((schedule.ranks, schedule.rank_of, schedule.micro_batches))
    mine = {
        "schedule": (hashlib.sha256(order.encode()).hexdigest(), repr(schedule)),
        "dtype": _dtypes(stages),
    }
    all_ranks: list[Any] = [None] * peers.size
    dist.all_gather_object(all_ranks, mine, group=group)
    for rank, theirs in enumerate(all_ranks):
        first = all_ranks[0]
        if theirs["schedule"] != first["schedule"]:
            raise ValueError(
                f"rank 0 has the schedule ({first['schedule'][1]}) and rank {rank} another one "
                f"({theirs['schedule'][1]}): build the pipeline from one schedule on all ranks"
            )
        if theirs["dtype"] and first["dtype"] and theirs["dtype"] != first["dtype"]:
            raise ValueError(
                f"the stages of rank 0 hold {first['dtype']} and those of rank {rank} hold "
                f"{theirs['dtype']}: convert the whole model before you cut it"
            )


def _dtypes(stages: dict[int, nn.Module]) -> str:
    kinds = {p.dtype for stage in stages.values() for p in stage.parameters()}
    names = sorted(str(kind).removeprefix("torch.") for kind in kinds if kind.is_floating_point)
    return " and ".join(names)


def _listed(stages: set[int]) -> str:
    if not stages:
        return "no stage"
    return f"stage{'s' * (len(stages) > 1)} {', '.join(map(str, sorted(stages)))}"
