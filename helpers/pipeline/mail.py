"""The messages of one rank: sends that do not wait, receives that are posted ahead.

What is sent and received follows from the schedule. Nobody waits in a send, so no schedule that
`check` passes can stop here.

Sizes. The receiver of a message needs a buffer of its size. So before the first activations of a
step, the stage that makes them announces them: their dtype, their shape, the rows of each
micro-batch. The gradient that comes back has the size of what was sent.

Order. Receives on a link are posted in the order in which the other rank sends: NCCL has no tags,
and would mix them up. Gloo has tags, and they are given: a mistake would show.

Memory. Gloo sends from the tensor itself: it must stay as it is until it has left. A message from
a rank proves that what that rank used before it sent has arrived; so sends are let go in between,
and the rest at the end of the step.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist

from helpers.pipeline.peers import Peers
from helpers.schedules import Action, Schedule, messages
from helpers.trace import Recorder

DTYPES = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
DIMENSIONS = 8  # of one row of an activation, at most
SMALL = 2**18  # bytes that may be posted ahead on a link, however many messages they are


@dataclass(frozen=True)
class Size:
    """What passes from one stage to the next: row i holds `rows[i]` x `row`, in this dtype."""

    rows: tuple[int, ...]
    row: tuple[int, ...]
    dtype: torch.dtype

    def shape(self, micro_batch: int) -> tuple[int, ...]:
        return self.rows[micro_batch], *self.row

    def to_numbers(self) -> list[int]:
        """As whole numbers, always as many."""
        padding = [0] * (DIMENSIONS - len(self.row))
        return [DTYPES.index(self.dtype), len(self.row), *self.row, *padding, *self.rows]

    @staticmethod
    def from_numbers(numbers: list[int]) -> "Size":
        kind, dimensions, *rest = numbers
        return Size(tuple(rest[DIMENSIONS:]), tuple(rest[:dimensions]), DTYPES[kind])


@dataclass(frozen=True)
class Letter:
    """A message that this rank receives.

    announces: it holds the size of what stage `stage` gives, and not a micro-batch of it.
    proves: the tags of own sends that have arrived once this has.
    """

    tag: int
    stage: int
    micro_batch: int = 0
    announces: bool = False
    proves: tuple[int, ...] = ()


class Mail:
    """Sends and receives of one rank, for one step after the other.

    ahead: how many receives are posted on a link before they are needed. Of small messages more
        are, up to SMALL bytes: there, what counts is not to wait for the other rank to be ready.
    """

    def __init__(self, schedule: Schedule, peers: Peers, recorder: Recorder, ahead: int = 3):
        self.schedule, self.peers, self.recorder, self.ahead = schedule, peers, recorder, ahead
        rows = messages(schedule)
        mine = rows[peers.rank]
        self.sends = {m.action: (m.peer, m.tag) for m in mine if m.kind == "send"}
        self.receives = {m.action: (m.peer, m.tag) for m in mine if m.kind == "recv"}
        self.letters = {peer: self._letters(peer, rows[peer]) for peer in {m.peer for m in mine}}

    def _letters(self, peer: int, row: Iterable) -> list[Letter]:
        """What a peer sends to this rank, in its order."""
        letters, announced, used = [], set(), []
        for kind, other, action, _, tag in row:
            if other != self.peers.rank:
                continue
            if kind == "recv":
                used.append(tag)
                continue
            if action.kind == "F":
                if action.stage not in announced:
                    announced.add(action.stage)
                    letters.append(Letter(self._announcing(action.stage), action.stage, 0, True))
                stage = action.stage
            else:
                stage = action.stage - 1  # the gradient of what that stage gave
            letters.append(Letter(tag, stage, action.micro_batch, False, tuple(used)))
            used = []
        return letters

    def _announcing(self, stage: int) -> int:
        """The tag of an announcement: above those of all micro-batches."""
        return 2 * self.schedule.stages * self.schedule.micro_batches + stage

    def begin(self) -> None:
        """A new step: the first receives of each link are posted."""
        self.sizes: dict[int, Size] = {}  # by the stage that gives it
        self.posted: dict[int, tuple[Any, torch.Tensor, Letter]] = {}  # by tag
        self.next = dict.fromkeys(self.letters, 0)  # by peer: the letter to post next
        self.waiting = dict.fromkeys(self.letters, 0)  # by peer: posted, and not yet needed
        self.room = dict.fromkeys(self.letters, 0)  # by peer: the bytes of those
        self.on_the_way: dict[int, Any] = {}  # own sends, by tag
        for peer in self.letters:
            self._post_ahead(peer)

    def send(self, action: Action, tensor: torch.Tensor) -> None:
        """Send what an action gives, and go on. Its size is in `sizes`."""
        peer, tag = self.sends[action]
        announcing = self._announcing(action.stage)
        if action.kind == "F" and announcing not in self.on_the_way:
            numbers = torch.tensor(self.sizes[action.stage].to_numbers(), device=self.peers.device)
            self._send(peer, announcing, numbers)
        info = self._info(action, peer)
        with self.recorder.span("send", tag=tag, bytes=tensor.nbytes, **info):
            self._send(peer, tag, tensor.to(self.peers.device).contiguous())

    def _info(self, action: Action, peer: int) -> dict[str, int]:
        """What the trace says of a message; the peer by its number in the world, as the rank is."""
        name = self.peers.names[peer]
        return {"stage": action.stage, "micro_batch": action.micro_batch, "peer": name}

    def _send(self, peer: int, tag: int, tensor: torch.Tensor) -> None:
        group = self.peers.link(self.peers.rank, peer)
        name, tag_or_none = self.peers.names[peer], tag if self.peers.tags else 0
        # The work must not be forgotten, nor the tensor: gloo reads it when the other rank asks.
        self.on_the_way[tag] = dist.isend(tensor, name, group, tag_or_none), tensor

    def receive(self, action: Action) -> torch.Tensor:
        """Wait for what an action needs."""
        peer, tag = self.receives[action]
        info = self._info(action, peer)
        with self.recorder.span("recv", tag=tag, **info) as facts:
            while tag not in self.posted:
                self._post(peer)
            work, tensor, letter = self._take(peer, tag)
            self._post_ahead(peer)
            work.wait()
            facts["bytes"] = tensor.nbytes
        for arrived in letter.proves:
            self.on_the_way.pop(arrived)[0].wait()
        return tensor

    def finish(self) -> None:
        """Wait until everything that was sent has arrived."""
        for work, _ in self.on_the_way.values():
            work.wait()
        self.on_the_way.clear()

    def _post_ahead(self, peer: int) -> None:
        """Post the next receives of a link, as far as their sizes are known."""
        while self.next[peer] < len(self.letters[peer]):
            letter = self.letters[peer][self.next[peer]]
            if not letter.announces and letter.stage not in self.sizes:
                return
            if self.waiting[peer] >= self.ahead and self.room[peer] + self._bytes(letter) > SMALL:
                return
            self._post(peer)

    def _bytes(self, letter: Letter) -> int:
        """Of the buffer for a letter; an announcement is small."""
        if letter.announces:
            return 0
        size = self.sizes[letter.stage]
        return math.prod(size.shape(letter.micro_batch)) * size.dtype.itemsize

    def _post(self, peer: int) -> None:
        """Post the next receive of a link; where its size is not known, wait for that."""
        letter = self.letters[peer][self.next[peer]]
        if letter.announces:
            length = 2 + DIMENSIONS + self.schedule.micro_batches
            buffer = torch.empty(length, dtype=torch.int64, device=self.peers.device)
        else:
            if letter.stage not in self.sizes:
                work, numbers, _ = self._take(peer, self._announcing(letter.stage))
                work.wait()
                self.sizes[letter.stage] = Size.from_numbers(numbers.tolist())
            size = self.sizes[letter.stage]
            buffer = torch.empty(
                size.shape(letter.micro_batch), dtype=size.dtype, device=self.peers.device
            )
        group = self.peers.link(peer, self.peers.rank)
        tag = letter.tag if self.peers.tags else 0
        work = dist.irecv(buffer, self.peers.names[peer], group, tag)
        self.posted[letter.tag] = work, buffer, letter
        self.next[peer] += 1
        self.waiting[peer] += 1
        self.room[peer] += buffer.nbytes

    def _take(self, peer: int, tag: int) -> tuple[Any, torch.Tensor, Letter]:
        """What was posted for a tag; from now on it counts no more."""
        self.waiting[peer] -= 1
        self.room[peer] -= self.posted[tag][1].nbytes
        return self.posted.pop(tag)
