"""What every symbolic tensor is: a number that stands in the books of a rank.

What a value is stands in the cluster's books, under the number that the value carries; so a value
that somebody builds by hand has the right face and no entry, and is refused where it is used.
"""

from cluster.classic import BLOCK_SIZE, HIDDEN_SIZE
from cluster.errors import Forged, Frozen, PuzzleError
from cluster.facts import ACTIVATION, ACTIVATION_GRADIENT, Facts, combined, cut, words


def shown(get, doc: str) -> property:
    """A property that can be read only."""

    def write(value, _):
        raise Frozen(
            f"{words(value.facts)} cannot be changed: a value says what was computed; compute "
            "another one"
        )

    return property(lambda value: get(value.facts), write, doc=doc)


class Value:
    """A tensor on one rank. `rank` keeps the books; None: built by hand, and good for nothing."""

    __slots__ = ("_rank", "_number", "_claim")
    kind = ""
    layer = shown(lambda facts: facts.layer, "the layer that it belongs to")

    def __init__(self, facts: Facts, layers: int):
        self._rank, self._number, self._claim = None, -1, (facts, layers)

    @property
    def facts(self) -> Facts:
        """What the cluster knows of it; of a value built by hand, what it claims."""
        if self._rank is None:
            return self._claim[0]
        return self._rank.facts_of(self)

    @property
    def layers(self) -> int:
        """How many layers the model has."""
        return self._claim[1] if self._rank is None else self._rank.layers

    def memory(self) -> float:
        """What it takes on the card: elements, or in the honest profile bytes."""
        if self._rank is not None:
            return self._rank.profile.size(self.facts)
        facts = self.facts
        if facts.kind in (ACTIVATION, ACTIVATION_GRADIENT):
            return facts.count * HIDDEN_SIZE * BLOCK_SIZE
        return len(facts.shards) / facts.parts * HIDDEN_SIZE * HIDDEN_SIZE

    def __del__(self):  # Python holds it no longer: its memory is free
        rank = self._rank
        if rank is not None and rank.book.pop(self._number, None) is not None:
            size = rank.weight.pop(self._number)
            if not rank.by_storage:
                rank.held -= size
            if rank.tape is not None:
                rank.tape.append(("free", self._number))

    def __copy__(self):
        return self  # values do not change, and a second one would have to be paid for

    def __deepcopy__(self, _):
        return self

    def __reduce__(self):
        raise Forged(f"{words(self.facts)} cannot be stored outside of the cluster")

    def __eq__(self, other):
        if not isinstance(other, Value):
            return NotImplemented
        return self.facts == other.facts

    __hash__ = None

    def __repr__(self):
        made = "" if self._rank is not None else " (built by hand)"
        return f"<{words(self.facts).removeprefix('the ')}{made}>"


class Sharded(Value):
    """A value that may be one or several shards of a layer's parameters."""

    __slots__ = ()
    shards = shown(lambda facts: facts.shards, "the shards that are here, a frozenset")
    num_shards = shown(lambda facts: facts.parts, "into how many shards the layer is cut")

    def combine(self, other):
        """The shards of both."""
        return self._made("combine", combined, other)

    def shard(self, shard: int, num_shards: int):
        """Cut shard `shard` of `num_shards` out of a whole value."""
        return self._made("shard", cut, shard, num_shards)

    def is_complete(self) -> bool:
        """Whether all shards are here."""
        return self.facts.complete

    def _made(self, op: str, rule, *inputs):
        """What `rule` makes of the facts, as a new value on the same rank; by hand from by hand."""
        values = [v for v in (self, *inputs) if isinstance(v, Value)]
        ranks = [v._rank for v in values if v._rank is not None]
        try:
            facts = rule(*(v.facts if isinstance(v, Value) else v for v in (self, *inputs)))
        except PuzzleError as error:
            raise type(error)(
                f"rank {ranks[0].number}, {op}: {error}" if ranks else error
            ) from None
        if not ranks:
            made = object.__new__(type(self))
            made._rank, made._number, made._claim = None, -1, (facts, *self._claim[1:])
            return made
        for value in values:
            ranks[0].use(value, self.kind, op)
        return ranks[0].derived(op, facts, self, inputs)
