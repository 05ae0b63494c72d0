"""The symbolic tensors that a student's step works with."""

from cluster.facts import (
    ACTIVATION,
    ACTIVATION_GRADIENT,
    GRADIENT,
    STATE,
    WEIGHT,
    WHOLE,
    Facts,
    added,
    samples_of,
)
from cluster.value import Sharded, Value, shown


class Stepped(Sharded):
    """A weight or an optimizer state."""

    __slots__ = ()
    step = shown(lambda facts: facts.step, "0 as loaded, 1 after the update")

    def __init__(self, layer, layers, step, shards=WHOLE, num_shards=1):
        super().__init__(Facts(self.kind, layer, 0, frozenset(shards), num_shards, step), layers)


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
    samples = shown(lambda facts: samples_of(facts.samples), "the samples, a frozenset")

    @property
    def total_samples(self) -> int:
        """The samples of the whole batch."""
        return self._claim[2] if self._rank is None else self._rank.batch


def claim(value: Value, facts: Facts, layers: int, total: int) -> None:
    """Write what a value built by hand claims."""
    Value.__init__(value, facts, layers)
    value._claim = (facts, layers, total)


def _bits(samples) -> int:
    mask = 0
    for sample in samples:
        mask |= 1 << sample
    return mask


class WeightGrad(Sampled, Sharded):
    """The gradient of a layer's weights, for some of the samples."""

    __slots__ = ()
    kind = GRADIENT

    def __init__(self, layer, layers, samples, total_samples, shards=WHOLE, num_shards=1):
        facts = Facts(GRADIENT, layer, _bits(samples), frozenset(shards), num_shards)
        claim(self, facts, layers, total_samples)

    def __add__(self, other):
        if not isinstance(other, WeightGrad):
            return NotImplemented
        rank = self._rank
        if rank is not None and other._rank is rank:
            a, b = rank.book.get(self._number), rank.book.get(other._number)
            if a and b and a[1] == b[1] and not a[2] & b[2] and a[3:] == b[3:]:  # as nearly always
                return rank.derived(
                    "add", Facts(GRADIENT, a[1], a[2] | b[2], *a[3:]), self, (other,)
                )
        return self._made("add", added, other)


class Flowing(Sampled, Value):
    """What goes from layer to layer."""

    __slots__ = ()

    def __init__(self, layer, layers, samples, total_samples):
        claim(self, Facts(self.kind, layer, _bits(samples)), layers, total_samples)


class Activation(Flowing):
    """The input of layer `layer` for some of the samples."""

    __slots__ = ()
    kind = ACTIVATION


class ActivationGrad(Flowing):
    """The gradient of the output of layer `layer`, for some of the samples."""

    __slots__ = ()
    kind = ACTIVATION_GRADIENT


CLASSES = {cls.kind: cls for cls in (Weight, OptState, WeightGrad, Activation, ActivationGrad)}
KINDS = frozenset(CLASSES.values())
