"""The wait-for graph: from where each rank stands to who waits for whom."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from helpers.hang.log import Standing, ThreadStanding
from helpers.hang.match import Misfit, collective_misfit
from helpers.hang.operation import Operation
from helpers.hang.places import Frame, Frames, is_library, locate
from helpers.hang.threads import only_polls
from helpers.waits import Deadlock, Wait, find_deadlock

NATIVE = "C++ "  # how the name of a collective begins that has started inside C++


class GlobalSnapshot:
    """Where all ranks stand at one moment, after nothing has moved for a while.

    standings: of the ranks that answered. ended: the ranks that have finished; if they have
        answered too, their standings say what they had asked for before.
    silent: the ranks that did not answer: they may do anything.
    """

    def __init__(
        self,
        standings: Sequence[Standing],
        ended: Collection[int] = (),
        silent: Collection[int] = (),
    ):
        self.ended = set(ended)
        self._known = {s.rank: s if s.rank in self.ended else _judged(s) for s in standings}
        self.standings = {r: s for r, s in self._known.items() if r not in self.ended}
        self.silent = set(silent)

    def waits(self) -> list[Wait]:
        """Return which ranks each waiting rank waits for."""
        found = []
        for rank, standing in sorted(self.standings.items()):
            operation, place = standing.waiting, locate([standing.since])
            if operation and (needs := self.needs(operation)):
                where, any_of = place.phrase.removeprefix(" at "), operation.from_any
                found.append(Wait(rank, needs, operation.doing, where, place.line, any_of))
        return found

    def deadlock(self) -> tuple[Deadlock | None, bool]:
        """Return the waits that nothing can end, as far as is known, and whether that is proven.

        It isn't proven that a rank is stuck while something else in its process can still act, nor
        that a rank has ended while its threads are alive.
        """
        waits = self.waits()
        able = {rank for rank, standing in self._known.items() if standing.threads}
        proven = find_deadlock([w for w in waits if w.who not in able], self.ended - able)
        return (proven, True) if proven else (find_deadlock(waits, self.ended), False)

    def others(self, rank: int) -> list[ThreadStanding]:
        """Return the threads of a rank besides the one that it is judged by."""
        return self._known[rank].others if rank in self._known else []

    def needs(self, operation: Operation) -> tuple[int, ...]:
        """Return the ranks that haven't done their part of an operation yet."""
        if operation.collective:
            return tuple(
                rank
                for rank in operation.members
                if rank != operation.rank and self.called(rank, operation) <= operation.index
            )
        if operation.peer is None:
            others = tuple(rank for rank in operation.members if rank != operation.rank)
            open_to_all = sum(self._not_named(rank, operation) for rank in others)
            return () if open_to_all > operation.index else others
        return () if self._other_side(operation) > operation.index else (operation.peer,)

    def called(self, rank: int, operation: Operation) -> int:
        """Return how many collectives of the operation's group a rank has called."""
        standing = self._known.get(rank)
        if standing is None:
            return 0
        if operation.name.startswith(NATIVE):
            return standing.native.started.get(operation.group, 0) if standing.native else 0
        return standing.posted.get(operation.channel, 0)

    def met(self, operation: Operation) -> list[Operation]:
        """Return the operations of all ranks that meet in one collective, as far as known."""
        return [
            other
            for standing in self._known.values()
            for other in standing.collectives.get(operation.group, [])
            if other.index == operation.index
        ]

    def misfit(self) -> Misfit | None:
        """Return in what a collective differs, if ranks wait in one that isn't the same on all."""
        waiting = [s.waiting for s in self.standings.values() if s.waiting]
        found = (collective_misfit(self.met(op)) for op in waiting if op.collective)
        return next(filter(None, found), None)

    def crossing(self, operation: Operation) -> Operation | None:
        """Return what the other rank of a message asked for under another tag, if that's why.

        That is so if both sides have posted equally many messages, but not with the same tags.
        """
        peer, mine = self._known.get(operation.peer), self.standings[operation.rank]
        if peer is None or operation.collective:
            return None
        direction = "recv" if operation.sends else "send"
        theirs = _by_tag(peer.posted, direction, operation.rank, operation.group)
        own = _by_tag(mine.posted, operation.channel[0], operation.peer, operation.group)
        if sum(theirs.values()) != sum(own.values()):
            return None
        for tag, count in sorted(theirs.items()):
            if count > own.get(tag, 0) and tag != operation.tag:
                return peer.latest.get((direction, operation.rank, operation.group, tag))
        return None

    def _other_side(self, operation: Operation) -> int:
        """Return how many matching operations the other rank of a message has posted."""
        peer = self._known.get(operation.peer)
        if peer is None:
            return 0
        direction = "recv" if operation.sends else "send"
        group, tag = operation.group, operation.tag
        count = peer.posted.get((direction, operation.rank, group, tag), 0)
        if operation.sends:
            count += peer.posted.get(("recv", None, group, tag), 0)
        return count

    def _not_named(self, rank: int, receive: Operation) -> int:
        """Return how many messages of a rank its named receives have left to those from any."""
        peer, mine = self._known.get(rank), self.standings[receive.rank]
        if peer is None:
            return 0
        sent = peer.posted.get(("send", receive.rank, receive.group, receive.tag), 0)
        taken = mine.posted.get(("recv", rank, receive.group, receive.tag), 0)
        return max(0, sent - taken)


def _by_tag(posted: Mapping[tuple, int], direction: str, peer: int, group: str) -> dict[int, int]:
    """Return how many messages of one direction between two ranks were posted, by tag."""
    of_these = (direction, peer, group)
    return {channel[3]: count for channel, count in posted.items() if channel[:3] == of_these}


def _judged(standing: Standing) -> Standing:
    """Return a standing that also says what a rank waits for without having called wait().

    A rank that only polls a Work waits for it. A rank that is blocked in C++ waits for the oldest
    collective that hasn't ended there.
    """
    if standing.waiting:
        return standing
    if standing.polls and only_polls(standing.frames, standing.polls[1]):
        return replace(standing, waiting=standing.polls[0], since=standing.polls[1])
    if not (standing.blocked and standing.native and standing.native.open):
        return standing
    group, (number, name, shape, dtype) = next(iter(standing.native.open.items()))
    members = tuple(standing.native.members.get(group, ()))
    frames = [f for f in standing.frames if f[0]]
    place = _own(frames) or (frames[-1] if frames else ("", 0, ""))
    operation = Operation(
        NATIVE + name,
        standing.rank,
        group=group,
        members=members,
        index=number - 1,
        shape=shape,
        dtype=dtype,
        place=place,
    )
    several = len(standing.native.open) > 1  # then it isn't known which of them it waits for
    return replace(standing, waiting=operation, since=place, threads=standing.threads or several)


def _own(frames: Frames) -> Frame | None:
    """Return the innermost frame of the student's own code, or None."""
    mine = [f for f in frames if not is_library(f[0]) and not f[0].startswith("<frozen")]
    return mine[-1] if mine else None
