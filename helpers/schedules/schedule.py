"""A schedule is data: for each rank, what it computes in which order."""

from collections.abc import Iterable
from dataclasses import dataclass

from helpers.schedules.action import Action

NO_RANK = -1  # the place of a stage that no rank has


@dataclass(frozen=True, repr=False)
class Schedule:
    """One training step of a pipeline: read it to run it, to simulate it, to draw it.

    name: for titles.
    ranks: the actions of each rank, in order.
    rank_of: rank_of[stage] is the rank that holds the stage. Several stages on one rank are
        interleaved. Left out, it follows from the actions.
    micro_batches: how many the batch is cut into, numbered from 0. Left out, it follows too.
    waves: the micro-batches come in this many equal waves; the pipeline is empty between two.

    The gradients of all micro-batches are added up, and one update of the weights follows. It has
    no place in the order: it comes last. Messages have none either: they follow from the order
    (see `messages`). A schedule may be wrong: `check` says so.
    """

    name: str
    ranks: tuple[tuple[Action, ...], ...]
    rank_of: tuple[int, ...] = ()
    micro_batches: int = 0
    waves: int = 1

    def __post_init__(self):
        # Frozen: this is the one place where fields are set.
        put = object.__setattr__
        put(self, "ranks", tuple(map(tuple, self.ranks)))
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

    def stages_of(self, rank: int) -> tuple[int, ...]:
        """The stages that a rank holds."""
        return tuple(stage for stage, owner in enumerate(self.rank_of) if owner == rank)

    def __repr__(self) -> str:
        return (
            f"{self.name}: {_many(self.size, 'rank')}, {_many(self.stages, 'stage')}, "
            f"{_many(self.micro_batches, 'micro-batch', 'es')}"
        )

    def __str__(self) -> str:
        from helpers.schedules.text import to_text

        return to_text(self)


def _many(count: int, what: str, ending: str = "s") -> str:
    return f"{count} {what}{'' if count == 1 else ending}"


def _places(ranks: Iterable[tuple[Action, ...]]) -> tuple[int, ...]:
    """The rank of each stage: the first that has an action of it.

    Ends at the first gap: a stage numbered 999999 by mistake must not fill the memory.
    """
    place: dict[int, int] = {}
    for rank, actions in enumerate(ranks):
        for action in actions:
            place.setdefault(action.stage, rank)
    stages = min(max(place, default=-1), len(place)) + 1
    return tuple(place.get(stage, NO_RANK) for stage in range(stages))
