"""Explain who waits for whom: find the deadlock in a list of waits, and say it in a sentence.

    deadlock = find_deadlock([Wait(0, (1,), "sends to rank 1"), Wait(1, (0,), "sends to rank 0")])
    sentence(deadlock)    "rank 0 waits for rank 1 (it sends to rank 1), and rank 1 waits for …"
    WaitGraph(waits)      what `helpers.draw.who_waits` draws: a row for each rank, an arrow a wait

Real ranks, schedules and simulated clusters all explain their deadlocks through it. Everything is
pure: the caller says what waits.
"""

from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from helpers.words import names

MOST_TOLD = 4  # this many waits of a long cycle are named one by one


@dataclass(frozen=True)
class Wait:
    """A rank that can't go on before others, `needs`, have done their part.

    doing: what it waits in, as the words after "it": "sends 4 float32 to rank 1".
    where: the place, such as "line 4 of cell [7]"; line: the text of that line of code.
    any_of: whether one of `needs` is enough, as in a receive from any rank; else it needs all.
    """

    who: int
    needs: tuple[int, ...]
    doing: str
    where: str = ""
    line: str = ""
    any_of: bool = False


@dataclass(frozen=True)
class Deadlock:
    """Waits that nothing can end: in a cycle, or for a rank that has ended.

    waits: all, in the order of their `who`.
    cycle: the shortest cycle of waits, each for the next and the last for the first; () if none.
    ended: the ranks that are waited for but have ended, so they will never answer.
    """

    waits: tuple[Wait, ...]
    cycle: tuple[Wait, ...] = ()
    ended: tuple[int, ...] = ()

    @property
    def core(self) -> tuple[Wait, ...]:
        """Return the waits that explain the others: the cycle, or those for an ended rank."""
        return self.cycle or tuple(w for w in self.waits if set(w.needs) & set(self.ended))


@dataclass(frozen=True)
class WaitGraph:
    """Who waits for whom, as data; `helpers.draw.who_waits` draws it.

    waits: at most one for each rank. ended: the ranks that have ended.
    others: what the ranks do that neither wait nor have ended.
    title: what was found; "": what `find_deadlock` finds in the waits.
    """

    waits: tuple[Wait, ...]
    ended: tuple[int, ...] = ()
    others: dict[int, str] = field(default_factory=dict)
    title: str = ""


def find_deadlock(waits: Sequence[Wait], ended: Collection[int] = ()) -> Deadlock | None:
    """Return the waits that can never end, or None if each of them still may.

    A wait for all of its `needs` can end if every one of them can act; a wait for any of them, if
    one can. What is left when no more can be ended is the deadlock (the "or" and "and" models of
    Knapp, "Deadlock detection in distributed databases", 1987).

    waits: at most one for each rank.
    ended: the ranks that will do nothing more; others that don't wait can still act.
    """
    left = {wait.who: wait for wait in waits}
    gone = set(ended)
    while able := [who for who, wait in left.items() if _can_end(wait, left, gone)]:
        for who in able:
            del left[who]
    if not left:
        return None
    stuck = tuple(left[who] for who in sorted(left))
    needed = {who for wait in stuck for who in wait.needs}
    return Deadlock(stuck, _shortest_cycle(left), tuple(sorted(needed & gone)))


def _can_end(wait: Wait, left: dict[int, Wait], gone: set[int]) -> bool:
    able = [who not in left and who not in gone for who in wait.needs]
    return any(able) if wait.any_of else all(able)


def _shortest_cycle(waits: dict[int, Wait]) -> tuple[Wait, ...]:
    """Return the shortest cycle of waits, of several that with the lowest rank; () if none."""
    paths, seen = deque((who,) for who in sorted(waits)), set()  # breadth first, from all at once
    while paths:
        path = paths.popleft()
        for needed in waits[path[-1]].needs:
            if needed == path[0]:
                return tuple(waits[who] for who in path)
            if needed in waits and (path[0], needed) not in seen:
                seen.add((path[0], needed))
                paths.append((*path, needed))
    return ()


def sentence(deadlock: Deadlock) -> str:
    """Return one sentence: who waits for whom, in what, at which line."""
    if cycle := deadlock.cycle:
        after = cycle[1:] + cycle[:1]
        parts = [_wait(wait, [other.who]) for wait, other in zip(cycle, after, strict=True)]
        if len(parts) > MOST_TOLD:
            more = len(parts) - MOST_TOLD + 1
            parts = [*parts[: MOST_TOLD - 1], f"so on through {more} more, back to the first"]
        if len(cycle) == 1:
            return f"{parts[0]}, which is itself: it can never go on"
        return f"{', '.join(parts[:-1])}, and {parts[-1]}: none of them can go first"
    parts = []
    for wait in deadlock.core[:MOST_TOLD]:
        gone = [who for who in wait.needs if who in deadlock.ended]
        have = "has" if len(gone) == 1 else "have"
        parts.append(f"{_wait(wait, gone)}, which {have} ended already")
    return "; ".join(parts)


def _wait(wait: Wait, for_whom: Sequence[int]) -> str:
    what = ", ".join(part for part in (wait.doing and f"it {wait.doing}", wait.where) if part)
    return f"rank {wait.who} waits for {names(for_whom)}" + (f" ({what})" if what else "")
