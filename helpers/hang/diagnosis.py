"""From a snapshot of all ranks to what a student reads: sentence, cure, rows and waits."""

from dataclasses import dataclass

from helpers.hang.cases import CASES, explain_misfit, still_at_work
from helpers.hang.log import Standing, ThreadStanding
from helpers.hang.places import Where, locate
from helpers.hang.wait_for_graph import GlobalSnapshot
from helpers.waits import Wait, WaitGraph
from helpers.words import capital


@dataclass(frozen=True)
class Diagnosis:
    """What happened to ranks that have stopped moving, and the cure.

    certain: nothing that any rank can still do will end it.
    sentence: what happened. cure: what to do. rows: where each rank stands. waits: who waits for
    whom, or None if no rank waits. misfit: what differs, if operations that meet don't fit.
    """

    certain: bool
    sentence: str
    cure: str
    rows: str
    waits: WaitGraph | None
    misfit: str = ""

    @property
    def details(self) -> str:
        """Return what is printed below the sentence."""
        return "\n".join(part for part in (self.rows, self.cure and f"  Cure: {self.cure}") if part)


def diagnose(snapshot: GlobalSnapshot) -> Diagnosis:
    """Explain a snapshot in which nothing has moved for a while."""
    waits = snapshot.waits()
    deadlock, proven = snapshot.deadlock()
    misfit = snapshot.misfit()
    certain = proven or (bool(misfit) and not any(s.threads for s in snapshot.standings.values()))
    if misfit:
        sentence, cure = explain_misfit(misfit)
    elif deadlock:
        sentence, cure = next(found for case in CASES if (found := case(snapshot, deadlock)))
    else:
        waiting = [wait.who for wait in waits]
        busy = [rank for rank in snapshot.standings if rank not in waiting]
        sentence, cure = still_at_work(waiting, busy)
    graph, kind = _graph(snapshot, waits, sentence), misfit.kind if misfit else ""
    return Diagnosis(certain, sentence, cure, rows(snapshot), graph, kind)


def rows(snapshot: GlobalSnapshot) -> str:
    """Return a row for each rank and for each of its other threads: what it is doing, and where."""
    lines = []
    for rank in sorted({*snapshot.standings, *snapshot.ended, *snapshot.silent}):
        if rank not in snapshot.standings:
            does = "has finished" if rank in snapshot.ended else "did not answer"
            lines.append(f"  rank {rank} {does}")
        else:
            standing = snapshot.standings[rank]
            lines += _row(f"  rank {rank} {_doing(standing)}", _place(standing))
        for other in snapshot.others(rank):
            place = _place(other)
            if other.waiting or place.line:
                doing = other.waiting.doing if other.waiting else "is at work"
                lines += _row(
                    f"  rank {rank}, in {other.name or 'the main thread'}, {doing}", place
                )
    return "\n".join(lines)


def _row(does: str, place: Where) -> list[str]:
    return [does + (place.phrase or " outside of your code"), *([place.line] if place.line else [])]


def _doing(standing: Standing) -> str:
    """Return the words after "rank 0"."""
    doing = standing.waiting.doing if standing.waiting else "is at work"
    if standing.returned and standing.thread:
        return f"has come to its end, and waits for {standing.thread}, which {doing}"
    return f"waits for {standing.thread}, which {doing}" if standing.thread else doing


def _place(standing: Standing | ThreadStanding) -> Where:
    return locate([standing.since] if standing.waiting else standing.frames)


def _graph(snapshot: GlobalSnapshot, waits: list[Wait], sentence: str) -> WaitGraph | None:
    """Return who waits for whom, titled with the sentence, or None if no rank waits."""
    if not waits:
        return None
    working = set(snapshot.standings) - {wait.who for wait in waits}
    others = {rank: "did not answer" for rank in snapshot.silent}
    for rank in working:
        standing = snapshot.standings[rank]
        phrase = _place(standing).phrase.removeprefix(" at ")
        doing = _doing(standing)
        others[rank] = f"{doing}, {phrase}" if phrase else doing
    title = capital(sentence.split(". ")[0])
    return WaitGraph(tuple(waits), tuple(snapshot.ended), others, title)
