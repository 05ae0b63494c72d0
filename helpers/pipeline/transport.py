"""The messages of one rank: sends that don't wait, and receives that are posted ahead.

What is sent and received follows from the schedule. No rank waits in a send, so a schedule that
passes `check` can't deadlock here.

Sizes. The receiver of a message needs a buffer of the right size. So before the first activations
of a step, a stage announces what it will send: the dtype, the shape, and the rows of each
micro-batch. The gradient that comes back has the size of what was sent.

Order. The receives on a link are posted in the order in which the other rank sends, because NCCL
has no tags and matches messages by their order alone. Gloo does have tags, and there we use them.

Memory. Gloo sends straight from the tensor, so the tensor must stay as it is until it has left. A
message from a rank proves that whatever that rank had used before sending it has arrived, so we
release the corresponding sends as we go, and the rest at the end of the step.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
import torch.distributed as dist

from helpers import private
from helpers.schedules import Action, Message, Schedule, messages
from helpers.trace import Recorder

DTYPES = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
DIMENSIONS = 8  # of one row of an activation, at most
# How many receives are posted on a link before they are needed; and more of them, up to so many
# bytes: where messages are small, the latency is all that counts.
AHEAD, SMALL = 3, 2**18


# --- the ranks -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Peers:
    """The ranks of one pipeline, numbered from 0 as in the schedule.

    rank, size: the number of this rank, and how many there are.
    names: the number of each rank in the world, which torch's functions expect.
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
        """Return the group that carries messages from one rank to another."""
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
    dist.all_gather_object(counts, private.groups_made(), peers.down)
    for _ in range(max(counts) - counts[peers.rank]):
        dist.new_group([peers.names[peers.rank]], use_local_synchronization=True)
    up = dist.new_group(list(peers.names), use_local_synchronization=True)
    return replace(peers, up=up, tags=False)


# --- what is sent --------------------------------------------------------------------------------


@dataclass(frozen=True)
class ActivationSpec:
    """The activations that one stage sends to the next: micro-batch i has shape (rows[i], *row)."""

    rows: tuple[int, ...]
    row: tuple[int, ...]
    dtype: torch.dtype

    def shape(self, micro_batch: int) -> tuple[int, ...]:
        return self.rows[micro_batch], *self.row

    def nbytes(self, micro_batch: int) -> int:
        return math.prod(self.shape(micro_batch)) * self.dtype.itemsize

    def to_numbers(self) -> list[int]:
        """Return it as integers; how many depends on the number of micro-batches alone."""
        padding = [0] * (DIMENSIONS - len(self.row))
        return [DTYPES.index(self.dtype), len(self.row), *self.row, *padding, *self.rows]

    @staticmethod
    def from_numbers(numbers: list[int]) -> "ActivationSpec":
        dtype, dimensions, *rest = numbers
        return ActivationSpec(tuple(rest[DIMENSIONS:]), tuple(rest[:dimensions]), DTYPES[dtype])


@dataclass(frozen=True)
class ExpectedMessage:
    """A message that this rank will receive.

    stage: it has the size of what this stage sends. announces: it holds that size itself, and not
    a micro-batch. proves: the tags of this rank's own sends that have arrived once this one has.
    """

    tag: int
    stage: int
    micro_batch: int = 0
    announces: bool = False
    proves: tuple[int, ...] = ()


@dataclass
class Inbound:
    """What one peer sends to this rank in a step, in its order, and how far we have come.

    posted: how many receives were posted. unused: how many of those nobody has needed yet, and
    unused_bytes: the size of their buffers.
    """

    expected: list[ExpectedMessage]
    posted: int = 0
    unused: int = 0
    unused_bytes: int = 0


class Transport:
    """The sends and receives of one rank, for one step after the other."""

    def __init__(self, schedule: Schedule, peers: Peers, recorder: Recorder):
        self.schedule, self.peers, self.recorder = schedule, peers, recorder
        of_ranks = messages(schedule)
        mine = of_ranks[peers.rank]
        self.sends = {m.action: (m.peer, m.tag) for m in mine if m.kind == "send"}
        self.receives = {m.action: (m.peer, m.tag) for m in mine if m.kind == "recv"}
        self.expected = {p: self._expected(of_ranks[p]) for p in sorted({m.peer for m in mine})}
        # The rest changes within a step.
        self.rows: tuple[int, ...] = ()  # of each micro-batch, the same in all stages
        self.specs: dict[int, ActivationSpec] = {}  # by the stage that sends it
        self.inbound: dict[int, Inbound] = {}  # by peer
        self.posted: dict[int, tuple[Any, torch.Tensor, ExpectedMessage]] = {}  # by tag
        self.in_transit: dict[int, tuple[Any, torch.Tensor]] = {}  # this rank's sends, by tag

    def _expected(self, row: Sequence[Message]) -> list[ExpectedMessage]:
        """Return what a peer sends to this rank, from all the messages of the peer."""
        expected, announced, used = [], set(), []
        for kind, other, action, _, tag in row:
            if other != self.peers.rank:
                continue
            if kind == "recv":
                used.append(tag)
                continue
            forward = action.kind == "F"
            stage = action.stage if forward else action.stage - 1  # a gradient: of its output
            if forward and stage not in announced:
                announced.add(stage)
                expected.append(ExpectedMessage(self._announcement(stage), stage, announces=True))
            expected.append(ExpectedMessage(tag, stage, action.micro_batch, proves=tuple(used)))
            used = []
        return expected

    def _announcement(self, stage: int) -> int:
        """Return the tag of an announcement, above those of all micro-batches."""
        return 2 * self.schedule.stages * self.schedule.micro_batches + stage

    def begin_step(self, rows: Sequence[int] = ()) -> None:
        """Post the first receives of each link. rows: of each micro-batch, on the first stage."""
        self.rows = tuple(rows)
        self.inbound = {peer: Inbound(expected) for peer, expected in self.expected.items()}
        self.specs, self.posted, self.in_transit = {}, {}, {}
        for peer in self.inbound:
            self._post_ahead(peer)

    def end_step(self) -> None:
        """Wait until everything that was sent has arrived."""
        for work, _ in self.in_transit.values():
            work.wait()
        self.in_transit.clear()

    def send(self, action: Action, tensor: torch.Tensor) -> None:
        """Start to send the result of an action, and return at once."""
        peer, tag = self.sends[action]
        kind, stage, i = action
        if kind == "F" and stage not in self.specs:
            self.specs[stage] = ActivationSpec(self.rows, tuple(tensor.shape[1:]), tensor.dtype)
            numbers = torch.tensor(self.specs[stage].to_numbers(), device=self.peers.device)
            self._send(peer, self._announcement(stage), numbers)
        facts = self._facts(action, peer)
        with self.recorder.span("send", tag=tag, bytes=tensor.nbytes, **facts):
            self._send(peer, tag, tensor.to(self.peers.device).contiguous())

    def _facts(self, action: Action, peer: int) -> dict[str, int]:
        """Return what the trace says of a message; the peer by its number in the world."""
        name = self.peers.names[peer]
        return {"stage": action.stage, "micro_batch": action.micro_batch, "peer": name}

    def _send(self, peer: int, tag: int, tensor: torch.Tensor) -> None:
        group = self.peers.link(self.peers.rank, peer)
        work = dist.isend(tensor, self.peers.names[peer], group, tag if self.peers.tags else 0)
        self.in_transit[tag] = work, tensor  # gloo reads the tensor when the other rank asks for it

    def receive(self, action: Action) -> torch.Tensor:
        """Wait for what an action needs and return it."""
        peer, tag = self.receives[action]
        with self.recorder.span("recv", tag=tag, **self._facts(action, peer)) as info:
            while tag not in self.posted:
                self._post(peer)
            work, tensor, message = self._use(peer, tag)
            self._post_ahead(peer)
            work.wait()
            info["bytes"] = tensor.nbytes
        for arrived in message.proves:
            self.in_transit.pop(arrived)[0].wait()
        return tensor

    def _post_ahead(self, peer: int) -> None:
        """Post the next receives of a link, as far as their sizes are known and there is room."""
        inbound = self.inbound[peer]
        while inbound.posted < len(inbound.expected):
            message = inbound.expected[inbound.posted]
            if not message.announces and message.stage not in self.specs:
                return
            size = 0 if message.announces else self.specs[message.stage].nbytes(message.micro_batch)
            if inbound.unused >= AHEAD and inbound.unused_bytes + size > SMALL:
                return
            self._post(peer)

    def _post(self, peer: int) -> None:
        """Post the next receive of a link; if its size isn't known yet, wait for that first."""
        inbound = self.inbound[peer]
        message = inbound.expected[inbound.posted]
        if message.announces:
            shape, dtype = (2 + DIMENSIONS + self.schedule.micro_batches,), torch.int64
        else:
            spec = self.specs.get(message.stage) or self._read_announcement(peer, message.stage)
            shape, dtype = spec.shape(message.micro_batch), spec.dtype
        buffer = torch.empty(shape, dtype=dtype, device=self.peers.device)
        group, tag = self.peers.link(peer, self.peers.rank), message.tag if self.peers.tags else 0
        work = dist.irecv(buffer, self.peers.names[peer], group, tag)
        self.posted[message.tag] = work, buffer, message
        inbound.posted += 1
        inbound.unused += 1
        inbound.unused_bytes += buffer.nbytes

    def _read_announcement(self, peer: int, stage: int) -> ActivationSpec:
        """Wait for what a stage announces about its activations."""
        work, numbers, _ = self._use(peer, self._announcement(stage))
        work.wait()
        spec = self.specs[stage] = ActivationSpec.from_numbers(numbers.tolist())
        self.rows = spec.rows
        return spec

    def _use(self, peer: int, tag: int) -> tuple[Any, torch.Tensor, ExpectedMessage]:
        """Return what was posted for a tag; it no longer counts as posted ahead."""
        work, buffer, message = self.posted.pop(tag)
        self.inbound[peer].unused -= 1
        self.inbound[peer].unused_bytes -= buffer.nbytes
        return work, buffer, message
