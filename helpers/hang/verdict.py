"""From where all ranks stand to what a student reads: is it a deadlock, why, and the cure.

A verdict is certain only if nothing can still act: each rank stands in a blocking call, or has
ended, and none of the waits can end before another one has.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from functools import cached_property

from helpers.hang.cases import CASES, still_at_work
from helpers.hang.checked import Mismatch, misfit
from helpers.hang.monitor import Standing
from helpers.hang.operation import Operation
from helpers.hang.places import Where, locate
from helpers.waits import Wait, WaitGraph, find_deadlock
from helpers.words import capital


class Snapshot:
    """Where all ranks stand at one moment, after nothing has moved for a while.

    standings: of the ranks that answered. ended: the ranks that have finished; if they have
        answered too, their standings say what they had asked for before.
    silent: the ranks that did not answer: they may do anything.
    """

    def __init__(self, standings: Sequence[Standing], ended=(), silent: Collection[int] = ()):
        self.ended, self.silent = set(ended), set(silent)
        self.known = {s.rank: s for s in sorted(standings, key=lambda s: s.rank)}
        asked = {rank: standing.waiting for rank, standing in self.known.items()}
        self.waiting = {r: op for r, op in asked.items() if op and r not in self.ended}
        self.busy = [rank for rank in self.known if rank not in {*self.waiting, *self.ended}]
        self.sure = {rank for rank, standing in self.known.items() if not standing.unsure}
        sure = [wait for wait in self.waits if wait.who in self.sure]
        self.proven = find_deadlock(sure, self.ended & self.sure)
        self.deadlock = self.proven or find_deadlock(self.waits, self.ended)

    @cached_property
    def misfit(self) -> Mismatch | None:
        """In what a collective differs, if ranks wait in one that isn't the same on all."""
        for mine in self.waiting.values():
            if mine.collective and not mine.native:
                of_group = [s.collectives.get(mine.group, []) for s in self.known.values()]
                called = [op for each in of_group for op in each if op.index == mine.index]
                if called and (found := misfit(called)):
                    return found
        return None

    @property
    def certain(self) -> bool:
        """Whether nothing that any rank can still do will end it."""
        return bool(self.proven or (self.misfit and len(self.sure) == len(self.known)))

    @cached_property
    def told(self) -> tuple[str, str]:
        """What happened, and the cure."""
        if self.misfit:
            return self.misfit.what, self.misfit.cure
        if self.deadlock:
            return next(told for case in CASES if (told := case(self)))
        return still_at_work([wait.who for wait in self.waits], self.busy)

    @property
    def details(self) -> str:
        """Where each rank stands, and the cure: what is printed below the sentence."""
        cure = self.told[1]
        return "\n".join(part for part in (self.rows(), cure and f"  Cure: {cure}") if part)

    @property
    def graph(self) -> WaitGraph | None:
        """Who waits for whom, or None if no rank waits."""
        if not self.waits:
            return None
        others = {rank: "did not answer" for rank in self.silent}
        others |= {rank: self._does(rank).replace(" at line", ", line") for rank in self.busy}
        title = capital(self.told[0].split(". ")[0])
        return WaitGraph(tuple(self.waits), tuple(self.ended), others, title)

    # --- who waits for whom ----------------------------------------------------------------------

    @cached_property
    def waits(self) -> list[Wait]:
        """Which ranks each waiting rank waits for."""
        found = []
        for rank, op in self.waiting.items():
            if needs := self._needs(op):
                place = locate([self.known[rank].since])
                where = place.phrase.removeprefix(" at ")
                any_of = op.receives and op.peer is None
                found.append(Wait(rank, needs, op.doing, where, place.line, any_of))
        return found

    @property
    def core(self) -> list[tuple[Wait, Operation]]:
        """The waits that explain the others, each with what its rank waits for."""
        return [(wait, self.waiting[wait.who]) for wait in self.deadlock.core]

    @property
    def cycle(self) -> list[Operation]:
        return [self.waiting[wait.who] for wait in self.deadlock.cycle]

    def _needs(self, operation: Operation) -> tuple[int, ...]:
        """Return the ranks that haven't done their part of an operation yet."""
        others = tuple(rank for rank in operation.members if rank != operation.rank)
        peer, group, tag, rank = operation.peer, operation.group, operation.tag, operation.rank
        if operation.collective:
            return tuple(other for other in others if not self._has_called(other, operation))
        if peer is None:
            open_to_all = 0  # messages that the receives by name have left to those from any rank
            for other in others:
                sent = self._posted(other, ("send", rank, group, tag))
                open_to_all += max(0, sent - self._posted(rank, ("recv", other, group, tag)))
            return () if open_to_all > operation.index else others
        count = self._posted(peer, ("recv" if operation.sends else "send", rank, group, tag))
        if operation.sends:
            count += self._posted(peer, ("recv", None, group, tag))
        return () if count > operation.index else (peer,)

    def by_tag(self, rank: int | None, way: tuple) -> Counter[int]:
        """Return how many messages a rank has posted in one direction (channels without a tag)."""
        latest = self.known[rank].latest if rank in self.known else {}
        return Counter({op.tag: op.index + 1 for key, op in latest.items() if key[:3] == way})

    def _posted(self, rank: int, channel: tuple) -> int:
        last = self.known[rank].latest.get(channel) if rank in self.known else None
        return last.index + 1 if last else 0

    def _has_called(self, rank: int, operation: Operation) -> bool:
        if not operation.native:
            return self._posted(rank, operation.channel) > operation.index
        native = self.known[rank].native if rank in self.known else {}
        started, oldest = native.get(operation.group, (0, None))
        # It may have called another one in its place, which C++ doesn't refuse.
        another = oldest and oldest.index == operation.index and oldest.name != operation.name
        return started > operation.index and not another

    # --- rows ------------------------------------------------------------------------------------

    def rows(self) -> str:
        """Return what each rank is doing, and where; and its other threads."""
        lines = []
        for rank in sorted({*self.known, *self.ended, *self.silent}):
            standing = self.known.get(rank)
            lines.append(f"  rank {rank} {self._does(rank)}")
            if standing and rank not in self.ended:
                lines.append(_place(standing).line)
            for name, waiting, frames in standing.others if standing else ():
                place = locate(frames)
                if waiting or place.line:
                    doing = waiting.doing if waiting else "is at work"
                    lines += [f"  rank {rank}, in {name}, {doing}{place.phrase}", place.line]
        return "\n".join(filter(None, lines))

    def _does(self, rank: int) -> str:
        """Return the words after "rank 0": what it does, and where."""
        if rank in self.ended:
            return "has finished"
        if rank not in self.known:
            return "did not answer"
        standing = self.known[rank]
        doing = standing.waiting.doing if standing.waiting else "is at work"
        also = f", and {standing.unsure}" if standing.unsure else ""
        return f"{doing}{_place(standing).phrase or ' outside of your code'}{also}"


def _place(standing: Standing) -> Where:
    return locate([standing.since] if standing.waiting else standing.frames)
