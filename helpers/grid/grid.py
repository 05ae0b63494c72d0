"""The process grid: every rank has a place in DP x PP x TP, and a group is a slice of it."""

from dataclasses import dataclass
from itertools import product
from math import prod
from numbers import Integral
from typing import NamedTuple

DIMENSIONS = ("dp", "pp", "tp")


class Coordinates(NamedTuple):
    """The place of a rank: its replica, its pipeline stage, its part of each layer; from 0."""

    dp: int
    pp: int
    tp: int


@dataclass(frozen=True)
class Grid:
    """dp replicas of the model, each cut into pp stages, each layer cut into tp parts.

    The ranks form an array of shape (dp, pp, tp) in row-major order, so tp changes fastest. The
    ranks of one TP group communicate most, so they are neighbors, on one machine if it is large
    enough; Megatron-LM places them the same way (arXiv 2104.04473, section 3).

    Raises:
        ValueError: if a number is below 1.
    """

    dp: int = 1
    pp: int = 1
    tp: int = 1

    def __post_init__(self):
        for dimension, number in zip(DIMENSIONS, self.shape, strict=True):
            if not isinstance(number, int) or number < 1:
                raise ValueError(f"Grid({dimension}={number!r}): give a whole number, 1 or more")

    @property
    def shape(self) -> tuple[int, int, int]:
        return self.dp, self.pp, self.tp

    @property
    def size(self) -> int:
        """The number of ranks."""
        return prod(self.shape)

    def require(self, ranks: int) -> "Grid":
        """Return the grid itself if it has exactly this many ranks; raise ValueError if not."""
        if self.size != ranks:
            words = " x ".join(map(str, self.shape))
            raise ValueError(
                f"{words} is {_ranks(self.size)}, and there {'is' if ranks == 1 else 'are'} "
                f"{ranks}: start {_ranks(self.size)}, or choose dp x pp x tp = {ranks}"
            )
        return self

    def coordinates(self, rank: int) -> Coordinates:
        """Return the place of a rank.

        Raises:
            ValueError: if the grid has no such rank.
            TypeError: if the rank is not a whole number.
        """
        if not isinstance(rank, Integral):
            raise TypeError(f"a rank is a whole number, not {rank!r}")
        if not 0 <= rank < self.size:
            raise ValueError(
                f"there is no rank {rank}: this grid has {_ranks(self.size)}, 0 to {self.size - 1}"
            )
        above, t = divmod(rank, self.tp)
        return Coordinates(*divmod(above, self.pp), t)

    def rank(self, dp: int = 0, pp: int = 0, tp: int = 0) -> int:
        """Return the rank at a place; raise ValueError if it is outside the grid."""
        for name, at, length in zip(DIMENSIONS, (dp, pp, tp), self.shape, strict=True):
            if not 0 <= at < length:
                last = f"0 to {length - 1}" if length > 1 else "0 only"
                raise ValueError(f"there is no place {name}={at}: {name} goes from {last}")
        return (dp * self.pp + pp) * self.tp + tp

    def group(self, rank: int, dimension: str) -> tuple[int, ...]:
        """Return the ranks that share all other coordinates with `rank`, itself included, in order.

        "dp": the same part of the model in every replica; these average gradients.
        "pp": the stages of one replica, first to last.  "tp": the parts of the same layers.
        """
        place = self.coordinates(rank)._asdict()
        length = self.shape[_index(dimension)]
        return tuple(self.rank(**place | {dimension: at}) for at in range(length))

    def groups(self, dimension: str) -> list[tuple[int, ...]]:
        """Return all groups of a dimension; each rank is in exactly one."""
        shape = list(self.shape)
        shape[_index(dimension)] = 1
        return [self.group(self.rank(*at), dimension) for at in product(*map(range, shape))]

    def previous(self, rank: int) -> int | None:
        """Return the rank of the previous stage in the same replica; None for the first stage."""
        d, s, t = self.coordinates(rank)
        return self.rank(d, s - 1, t) if s > 0 else None

    def next(self, rank: int) -> int | None:
        """Return the rank of the next stage in the same replica; None for the last stage."""
        d, s, t = self.coordinates(rank)
        return self.rank(d, s + 1, t) if s < self.pp - 1 else None

    def is_first(self, rank: int) -> bool:
        """Return whether the rank has the first stage, which reads the tokens."""
        return self.previous(rank) is None

    def is_last(self, rank: int) -> bool:
        """Return whether the rank has the last stage, which computes the loss."""
        return self.next(rank) is None

    def __str__(self) -> str:
        from helpers.grid.text import to_text

        return to_text(self)


def _index(dimension: str) -> int:
    if dimension not in DIMENSIONS:
        raise ValueError(f"there is no dimension {dimension!r}: choose 'dp', 'pp' or 'tp'")
    return DIMENSIONS.index(dimension)


def _ranks(count: int) -> str:
    return f"{count} rank{'' if count == 1 else 's'}"
