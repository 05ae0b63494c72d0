"""The symbolic tensors that a step works with: each is a number that stands in a rank's books.

What a value is stands in those books, under the number that the value carries; so a value that
somebody builds by hand has the right face and no entry, and is refused where it is used.
"""

from cluster.errors import Forged, Frozen, PuzzleError
from cluster.facts import (
    ACTIVATION,
    ACTIVATION_GRADIENT,
    GRADIENT,
    STATE,
    WEIGHT,
    Facts,
    added,
    combined,
    cut,
    mask_of,
    numbers_in,
    words,
)
from cluster.profiles import BLOCK_SIZE, HIDDEN_SIZE


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

    def __init__(self, facts: Facts, layers: int, total: int = 0):
        self._rank, self._number, self._claim = None, -1, (facts, layers, total)

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
        """What it takes on the card: elements, or in the profile `bytes` bytes."""
        if self._rank is not None:
            return self._rank.profile.size(self.facts)
        facts = self.facts
        if facts.kind in (ACTIVATION, ACTIVATION_GRADIENT):
            return facts.samples.bit_count() * HIDDEN_SIZE * BLOCK_SIZE
        return facts.shards.bit_count() / facts.parts * HIDDEN_SIZE * HIDDEN_SIZE

    def __del__(self):  # Python holds it no longer: its memory is free
        rank = self._rank
        if rank is not None and rank.book.pop(self._number, None) is not None:
            size = rank.weight.pop(self._number)
            if not rank.by_storage:
                rank.held -= size
            rank.write("free", self._number)

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
    shards = shown(lambda facts: numbers_in(facts.shards), "the shards that are here, a frozenset")
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
            return by_hand(facts, *self._claim[1:])
        for value in values:
            ranks[0].use(value, self.kind, op)
        return ranks[0].derived(op, facts, self, inputs)


class Stepped(Sharded):
    """A weight or an optimizer state."""

    __slots__ = ()
    step = shown(lambda facts: facts.step, "0 as loaded, 1 after the update")

    def __init__(self, layer, layers, step, shards=frozenset({0}), num_shards=1):
        super().__init__(Facts(self.kind, layer, 0, mask_of(shards), num_shards, step), layers)


class Weight(Stepped):
    """The weights of a layer. Forward and backward need all shards of it."""

    __slots__ = ()
    kind = WEIGHT


class OptState(Stepped):
    """What the optimizer keeps for a layer: of Adam, two moments and a float32 copy."""

    __slots__ = ()
    kind = STATE


class Sampled:
    """What belongs to some of the samples of the batch."""

    __slots__ = ()
    samples = shown(lambda facts: numbers_in(facts.samples), "the samples, a frozenset")

    @property
    def total_samples(self) -> int:
        """The samples of the whole batch."""
        return self._claim[2] if self._rank is None else self._rank.batch


class WeightGrad(Sampled, Sharded):
    """The gradient of a layer's weights, for some of the samples."""

    __slots__ = ()
    kind = GRADIENT

    def __init__(self, layer, layers, samples, total_samples, shards=frozenset({0}), num_shards=1):
        facts = Facts(GRADIENT, layer, mask_of(samples), mask_of(shards), num_shards)
        super().__init__(facts, layers, total_samples)

    def __add__(self, other):
        if not isinstance(other, WeightGrad):
            return NotImplemented
        return self._made("add", added, other)


class Flowing(Sampled, Value):
    """What goes from layer to layer."""

    __slots__ = ()

    def __init__(self, layer, layers, samples, total_samples):
        super().__init__(Facts(self.kind, layer, mask_of(samples)), layers, total_samples)


class Activation(Flowing):
    """The input of layer `layer` for some of the samples."""

    __slots__ = ()
    kind = ACTIVATION


class ActivationGrad(Flowing):
    """The gradient of the output of layer `layer`, for some of the samples."""

    __slots__ = ()
    kind = ACTIVATION_GRADIENT


def by_hand(facts: Facts, *claims: int) -> Value:
    """A value to look at: it says what the facts say, and no operation takes it."""
    value = object.__new__(CLASSES[facts.kind])
    Value.__init__(value, facts, *claims)
    return value


CLASSES = {cls.kind: cls for cls in (Weight, OptState, WeightGrad, Activation, ActivationGrad)}
KINDS = frozenset(CLASSES.values())
