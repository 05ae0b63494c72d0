"""Collectives of all ranks, or of some."""

from cluster.collectives import start
from cluster.pending import Pending
from cluster.value import Value
from cluster.values import WeightGrad


class Group:
    """Some of the ranks. Collectives of a group are between them alone."""

    def __init__(self, books, ranks: tuple[int, ...]):
        self._books, self.ranks = books, ranks

    @property
    def size(self) -> int:
        return len(self.ranks)

    @property
    def index(self) -> int:
        """The place of this rank in the group: the shard that reduce_scatter gives it."""
        return self.ranks.index(self._books.number)

    def all_reduce(self, v: WeightGrad, layer: int | None = None) -> Pending:
        """Await it: the sum of the gradients of all ranks of the group."""
        return start(self._books, "all_reduce", v, self.ranks)

    def reduce_scatter(self, v: WeightGrad, layer: int | None = None) -> Pending:
        """Await it: this rank's shard of that sum."""
        return start(self._books, "reduce_scatter", v, self.ranks)

    def all_gather(self, v: Value, layer: int | None = None) -> Pending:
        """Await it: the shards of all ranks of the group, put together."""
        return start(self._books, "all_gather", v, self.ranks)
