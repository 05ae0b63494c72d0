"""The process grid: every rank has a place in DP x PP x CP x TP, and a group is a slice of it."""

from dataclasses import dataclass
from types import SimpleNamespace
from typing import NamedTuple

from helpers.words import many

DIMENSIONS = ("dp", "pp", "cp", "tp")  # slowest first


class Coordinates(NamedTuple):
    """The place of a rank, from 0: its replica, stage, part of each layer and of each sequence."""

    dp: int
    pp: int
    tp: int
    cp: int = 0


@dataclass(frozen=True)
class Grid:
    """dp replicas of the model, each cut into pp stages, each layer cut into tp parts.

    Each sequence is cut into cp parts. The ranks form an array of shape (dp, pp, cp, tp) in
    row-major order, so tp changes fastest. The ranks of one TP group communicate most, so they are
    neighbors, on one machine if it is large enough.

    Llama 3 has this order, with CP next to TP and DP outermost (2407.21783, section 3.3.2), and so
    has Megatron-LM with `--use-tp-pp-dp-mapping`. Megatron-LM's default and torchtitan's mesh have
    PP outermost, and so has the cluster model (`helpers.cluster.Layout`), since the runs that set
    its constants were placed that way.

    Raises:
        ValueError: if a number is below 1.
    """

    dp: int = 1
    pp: int = 1
    tp: int = 1
    cp: int = 1

    def __post_init__(self):
        for dimension in DIMENSIONS:
            number = getattr(self, dimension)
            if not isinstance(number, int) or number < 1:
                raise ValueError(f"Grid({dimension}={number!r}): give a whole number, 1 or more")

    @property
    def size(self) -> int:
        """The number of ranks."""
        return self.dp * self.pp * self.cp * self.tp

    def require(self, ranks: int) -> "Grid":
        """Return the grid itself if it has exactly this many ranks; raise ValueError if not."""
        if self.size != ranks:
            names = ["dp", "pp", "tp"] + ["cp"] * (self.cp > 1)
            words, mine = " x ".join(str(getattr(self, n)) for n in names), many(self.size, "rank")
            raise ValueError(
                f"{words} is {mine}, and there {'is' if ranks == 1 else 'are'} {ranks}: start "
                f"{mine}, or choose {' x '.join(names)} = {ranks}"
            )
        return self

    def coordinates(self, rank: int) -> Coordinates:
        """Return the place of a rank; raise ValueError if the grid has no such rank."""
        if not 0 <= rank < self.size:
            raise ValueError(f"there is no rank {rank}: this grid has ranks 0 to {self.size - 1}")
        above, t = divmod(rank, self.tp)
        above, c = divmod(above, self.cp)
        return Coordinates(*divmod(above, self.pp), t, c)

    def rank(self, dp: int = 0, pp: int = 0, tp: int = 0, cp: int = 0) -> int:
        """Return the rank at a place; raise ValueError if it is outside the grid."""
        found = 0
        for name, at in zip(DIMENSIONS, (dp, pp, cp, tp), strict=True):
            length = getattr(self, name)
            if not 0 <= at < length:
                raise ValueError(f"there is no place {name}={at}: {name} is 0 to {length - 1}")
            found = found * length + at
        return found

    def group(self, rank: int, dimension: str) -> tuple[int, ...]:
        """Return the ranks that share all other coordinates with `rank`, itself included, in order.

        "dp": the same part of the model in every replica; these average gradients.
        "pp": the stages of one replica, first to last.  "tp": the parts of the same layers.
        "cp": the parts of the same sequences.
        """
        place = self.coordinates(rank)._asdict()
        return tuple(self.rank(**place | {dimension: at}) for at in range(getattr(self, dimension)))

    def groups(self, dimension: str) -> list[tuple[int, ...]]:
        """Return all groups of a dimension; each rank is in exactly one."""
        return list(dict.fromkeys(self.group(rank, dimension) for rank in range(self.size)))

    def __str__(self) -> str:
        """Return one line per replica; ranks in the same cell share a stage's layers (TP, CP)."""
        width = len(str(self.size - 1))
        rows = [["", *(f"stage {s}" for s in range(self.pp))]]
        for d in range(self.dp):
            row = [f"replica {d}"]
            for s in range(self.pp):
                ranks = [self.rank(d, s, t, c) for c in range(self.cp) for t in range(self.tp)]
                row.append(" ".join(f"{rank:>{width}}" for rank in ranks))
            rows.append(row)
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["   ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)) for row in rows]
        return "\n".join(line.rstrip() for line in lines)


def make_groups(grid: Grid) -> SimpleNamespace:
    """Create all groups of a grid, on every rank, and return those of this rank: groups.dp, …

    Every rank must call it, because torch creates a group only if all ranks ask for it, also those
    outside it, in the same order. Raises ValueError unless as many are connected as the grid has.
    """
    import torch.distributed as dist  # only here: a grid on paper needs no torch

    grid.require(dist.get_world_size())
    mine = {}
    for dimension in DIMENSIONS:
        for ranks in grid.groups(dimension):
            group = dist.new_group(list(ranks))
            if dist.get_rank() in ranks:
                mine[dimension] = group
    return SimpleNamespace(**mine)
