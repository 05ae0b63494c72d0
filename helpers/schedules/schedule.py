"""A schedule is data: for each rank, the actions it computes, in order; and the same as text.

    rank 0: F0 F1 B0 B1         one stage per rank: stage 0 on rank 0, and so on
    rank 1: F0 B0 F1 B1

    rank 0: 0F0 2F0 2B0 0B0     several stages per rank: each action names its stage first
    rank 1: 1F0 3F0 3B0 1B0

    rank 0: F0 F1&B0 B1         a pair: F1 and B0 run as one action

Spaces, commas or | stand between actions; a . or - is an empty place; # begins a comment.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from helpers.words import many

KINDS = ("F", "B", "I", "W")
_ACTION = re.compile(r"(\d+)?([FBIW])(\d+)")


class Action(NamedTuple):
    """What a rank does for one micro-batch in one stage. Printed as PyTorch prints it: 2F0.

    kind: "F" forward, "B" the whole backward, or its two halves "I" (gradient of the input, which
        the stage before waits for) and "W" (gradient of the weights, which no stage waits for).
    stage, micro_batch: counted from 0.

    A tuple and not a dataclass: a large schedule holds a quarter of a million of them.
    """

    kind: str
    stage: int
    micro_batch: int

    def __str__(self) -> str:
        return f"{self.stage}{self.kind}{self.micro_batch}"

    __repr__ = __str__


def read_action(text: str, stage: int | None = None) -> Action:
    """Return the action that a text names: "2F0" is Action("F", 2, 0).

    stage: the stage of a text that names none, as "F0".

    Raises:
        ValueError: if the text isn't an action.
    """
    found = _ACTION.fullmatch(text)
    if found is None:
        raise ValueError(
            f"{text!r} is no action: write F, B, I or W before its micro-batch, as F0, or after "
            "its stage too, as 2F0"
        )
    named, kind, micro_batch = found.groups()
    if named is None and stage is None:
        raise ValueError(f"{text!r} names no stage: write it before the letter, as 2{text}")
    return Action(kind, int(named) if named is not None else stage, int(micro_batch))


def read_turn(text: str, stage: int | None = None) -> tuple[Action, ...]:
    """Return the action that a text names, or the two of a pair: "F3&B1".

    Raises:
        ValueError: if the text is neither.
    """
    parts = text.split("&")
    if len(parts) > 2:
        raise ValueError(f"{text!r} joins {len(parts)} actions: a pair has two, as F3&B1")
    return tuple(read_action(part, stage) for part in parts)


NO_RANK = -1  # the place of a stage that no rank has


@dataclass(frozen=True, repr=False)
class Schedule:
    """One training step of a pipeline: read it to run it, to simulate it, to draw it.

    name: for titles.
    ranks: the actions of each rank, in order.
    rank_of: rank_of[stage] is the rank that holds the stage. Several stages on one rank are
        interleaved. Left out, it follows from the actions.
    micro_batches: how many the batch is cut into, numbered from 0. Left out, it follows too.
    pairs: for each rank, the positions whose action runs as one with the next (F&B): the two start
        when both have what they need, and their results leave when both are done. Left out: none.

    The gradients of all micro-batches are added up, and one update of the weights follows. It has
    no place in the order: it comes last. Messages have none either: they follow from the order
    (see `messages`). A schedule may be wrong: `check` proves it or says why not.
    """

    name: str
    ranks: tuple[tuple[Action, ...], ...]
    rank_of: tuple[int, ...] = ()
    micro_batches: int = 0
    pairs: tuple[tuple[int, ...], ...] = ()

    def __post_init__(self):
        # Frozen: this is the one place where fields are set.
        put = object.__setattr__
        put(self, "ranks", tuple(map(tuple, self.ranks)))
        put(self, "pairs", tuple(map(tuple, self.pairs)) or ((),) * len(self.ranks))
        if len(self.pairs) != len(self.ranks):
            raise ValueError(
                f"Schedule(pairs=...) has {len(self.pairs)} rows, and there are {len(self.ranks)} "
                "ranks: give one for each"
            )
        put(self, "rank_of", tuple(self.rank_of) or _places(self.ranks))
        if not self.micro_batches:
            numbers = (action.micro_batch for actions in self.ranks for action in actions)
            put(self, "micro_batches", max(numbers, default=-1) + 1)

    @property
    def stages(self) -> int:
        """How many stages the model is cut into."""
        return len(self.rank_of)

    @property
    def size(self) -> int:
        """How many ranks take part."""
        return len(self.ranks)

    def turn_at(self, rank: int, position: int) -> tuple[Action, ...]:
        """Return what the rank computes as one from a position on: an action, or a pair."""
        return self.ranks[rank][position : position + 1 + (position in self.pairs[rank])]

    def turns(self, rank: int) -> Iterator[tuple[int, tuple[Action, ...]]]:
        """Return the position and the actions of all that the rank computes, one by one."""
        actions, first, second = self.ranks[rank], set(self.pairs[rank]), -1
        for position in range(len(actions)):
            if position in first:
                second = position + 1
                yield position, actions[position : position + 2]
            elif position != second:
                yield position, actions[position : position + 1]

    def stages_of(self, rank: int) -> tuple[int, ...]:
        """Return the stages that a rank holds."""
        return tuple(stage for stage, owner in enumerate(self.rank_of) if owner == rank)

    def __repr__(self) -> str:
        return (
            f"{self.name}: {many(self.size, 'rank')}, {many(self.stages, 'stage')}, "
            f"{many(self.micro_batches, 'micro-batch', 'es')}"
        )

    def __str__(self) -> str:
        return to_text(self)


def of_turns(name: str, rows: Iterable[Iterable[Iterable[Action]]], *facts) -> Schedule:
    """Return the schedule of such rows: for each rank, its turns, of an action or a pair each.

    facts: what `Schedule` takes after `ranks`: the ranks of the stages, how many micro-batches.
    """
    ranks: list[list[Action]] = []
    pairs: list[list[int]] = []
    for row in rows:
        ranks.append([])
        pairs.append([])
        for turn in map(tuple, row):
            if len(turn) == 2:
                pairs[-1].append(len(ranks[-1]))
            ranks[-1] += turn
    return replace(Schedule(name, ranks, *facts), pairs=pairs)


def pair_text(turn: Iterable[Action]) -> str:
    """Return a turn as text: "2F0", or a pair: "2F3&5B1"."""
    return "&".join(map(str, turn))


def facts_of(action: Action, turn: Sequence[Action]) -> dict[str, int | str]:
    """Return what a trace says of an action: its stage, its micro-batch, and its pair, if any."""
    facts = {"stage": action.stage, "micro_batch": action.micro_batch}
    return facts | {"pair": pair_text(turn)} if len(turn) > 1 else facts


def _places(ranks: Iterable[tuple[Action, ...]]) -> tuple[int, ...]:
    """Return the rank of each stage: the first that has an action of it.

    Ends at the first gap: a stage numbered 999999 by mistake must not fill the memory.
    """
    place: dict[int, int] = {}
    for rank, actions in enumerate(ranks):
        for action in actions:
            place.setdefault(action.stage, rank)
    stages = min(max(place, default=-1), len(place)) + 1
    return tuple(place.get(stage, NO_RANK) for stage in range(stages))


EMPTY = {".", "-"}


def parse(text: str, name: str = "by hand") -> Schedule:
    """Read a schedule from such a text.

    Raises:
        ValueError: with line and column, where the text isn't a schedule.
    """
    rows: dict[int, list[tuple[int, int, str]]] = {}  # (line, column, cell), both from 1
    for number, line in enumerate(text.splitlines(), start=1):
        line = line.split("#")[0]
        if line.strip():
            rank, start = _rank(line, number, rows)
            found = re.finditer(r"[^\s,|]+", line[start:])
            rows[rank] = [(number, start + f.start() + 1, f.group()) for f in found]
    if not rows:
        raise ValueError('the text holds no schedule: write a line for each rank, "rank 0: F0 B0"')
    for rank in range(len(rows)):
        if rank not in rows:
            raise ValueError(
                f"there is no line for rank {rank}, and one for rank {max(rows)}: write one for "
                f"each rank from 0 to {max(rows)}"
            )
    cells = [cell for row in rows.values() for _, _, cell in row]
    with_stage = any(cell[0].isdigit() for cell in cells)  # as 2F0 does, and F0 does not
    ranks = [_turns(rows[rank], None if with_stage else rank) for rank in range(len(rows))]
    return of_turns(name, ranks)


def _rank(line: str, number: int, rows: dict) -> tuple[int, int]:
    """Return the rank that a line is of, and where its actions begin."""
    head = re.match(r"\s*(?:rank\s*)?(\d+)\s*:", line, re.IGNORECASE)
    if head is None:
        raise ValueError(
            f'line {number} does not say which rank it is of: begin it with "rank {len(rows)}:"'
        )
    rank = int(head.group(1))
    if rank in rows:
        raise ValueError(f"line {number}: rank {rank} has a line already; write one for each rank")
    return rank, head.end()


def _turns(row: list[tuple[int, int, str]], stage: int | None) -> list[tuple[Action, ...]]:
    turns = []
    for line, column, cell in row:
        if cell not in EMPTY:
            try:
                turns.append(read_turn(cell, stage))
            except ValueError as error:
                raise ValueError(f"line {line}, column {column}: {error}") from None
    return turns


def to_text(schedule: Schedule) -> str:
    """Return a line for each rank, which `parse` reads again; stages only where they are needed."""
    implied = schedule.rank_of == tuple(range(schedule.size))
    str_of = (lambda a: f"{a.kind}{a.micro_batch}") if implied else str
    width = len(str(schedule.size - 1))
    lines = []
    for rank in range(schedule.size):
        cells = ("&".join(map(str_of, turn)) for _, turn in schedule.turns(rank))
        lines.append(f"rank {rank:{width}}: {' '.join(cells)}".rstrip())
    return "\n".join(lines)
