"""The symbolic tensors of a step, what is known of them, and what the cluster refuses.

A value says what was computed. One that somebody builds by hand has no owner, so it is refused
where a rank would use it. Samples are a bit mask, bit i for sample i, and so are shards: shard k of
n is the interval from k/n to (k+1)/n of a layer's parameters.
"""

from functools import cache
from math import lcm
from typing import NamedTuple

from helpers.words import listed

HIDDEN_SIZE, BLOCK_SIZE = 4096, 1024
WEIGHT, STATE, GRADIENT = "weight", "optimizer state", "weight gradient"
ACTIVATION, ACTIVATION_GRADIENT = "activation", "activation gradient"
SHARDED = (WEIGHT, STATE, GRADIENT)


class PuzzleError(ValueError):
    """A training step did something that no real cluster would do."""


def whole_number(where: str, **values) -> None:
    for name, value in values.items():
        if type(value) is not int or value < 1:
            raise PuzzleError(f"{where}: {name} must be a whole number from 1, not {value!r}")


class Facts(NamedTuple):
    """samples, shards: masks. parts: into which the layer is cut. step: 0; after the update 1."""

    kind: str
    layer: int
    samples: int = 0
    shards: int = 1
    parts: int = 1
    step: int = 0

    @property
    def complete(self) -> bool:
        return self.shards.bit_count() == self.parts

    def __str__(self) -> str:  # the weight gradient of layer 3, shard 1 of 4, for samples 0 to 7
        text = f"the {self.kind} of layer {self.layer}"
        if self.parts > 1:
            text += f", {numbers(self.shards, 'shard')} of {self.parts}"
        return text if self.kind in (WEIGHT, STATE) else f"{text}, for {numbers(self.samples)}"

    def elements(self, hidden: int = HIDDEN_SIZE, block: int = BLOCK_SIZE) -> float:
        if self.kind in SHARDED:
            return self.shards.bit_count() / self.parts * hidden * hidden
        return self.samples.bit_count() * hidden * block


def mask_of(samples) -> int:
    mask = 0
    for sample in samples:
        if mask & 1 << sample:
            raise PuzzleError(f"sample {sample} is in the list twice: each sample counts once")
        mask |= 1 << sample
    return mask


@cache
def numbers_in(mask: int) -> frozenset[int]:
    return frozenset(i for i, bit in enumerate(reversed(bin(mask)[2:])) if bit == "1")


@cache
def numbers(mask: int, word: str = "sample") -> str:
    """0b1111 -> "samples 0 to 3"; 0b100010 -> "samples 1 and 5"; 1 << 7 -> "sample 7"."""
    found = sorted(numbers_in(mask))
    if len(found) < 2:
        return f"{word} {found[0]}" if found else f"no {word}"
    if found[-1] - found[0] == len(found) - 1 and len(found) > 2:
        return f"{word}s {found[0]} to {found[-1]}"
    if len(found) > 6:
        return f"{len(found)} {word}s ({found[0]}, {found[1]}, {found[2]} …)"
    return f"{word}s {listed(map(str, found))}"


def covers(held: list[Facts], wanted: Facts) -> bool:
    """Return whether the shards that are held contain every parameter of those wanted."""
    parts = lcm(wanted.parts, *(facts.parts for facts in held))

    def pieces(facts):
        each = parts // facts.parts
        return {shard * each + i for shard in numbers_in(facts.shards) for i in range(each)}

    return pieces(wanted) <= set().union(*map(pieces, held))


def added(a: Facts, b: Facts) -> Facts:
    """Return the sum of two gradients. Raises PuzzleError."""
    if a.layer != b.layer:
        raise PuzzleError(f"{a} and {b} belong to two layers, and cannot be added")
    if (a.shards, a.parts) != (b.shards, b.parts):
        raise PuzzleError(f"{a} and {b} are different parts of it: bring both alike")
    if both := a.samples & b.samples:
        raise PuzzleError(f"{numbers(both)} would count twice in the gradient of layer {a.layer}")
    return a._replace(samples=a.samples | b.samples)


def combined(a: Facts, b: Facts) -> Facts:
    """Return shards of one thing put together. Raises PuzzleError."""
    if a.kind != b.kind or a.layer != b.layer:
        raise PuzzleError(f"{a} and {b} cannot be put together: only shards of one layer can")
    if a.parts != b.parts:
        raise PuzzleError(f"{a} and {b} were cut into different numbers of shards")
    if a.step != b.step:
        raise PuzzleError(f"{a} is of step {a.step}, and {b} of step {b.step}")
    if a.samples != b.samples:
        raise PuzzleError(f"{a} and {b} stand for different samples: reduce them first")
    return a._replace(shards=a.shards | b.shards)


def cut(a: Facts, shard: int, parts: int) -> Facts:
    """Return one shard of something whole. Raises PuzzleError."""
    if not a.complete:
        raise PuzzleError(f"{a} is not whole, so it cannot be cut: gather it first")
    if not (type(shard) is type(parts) is int and 0 <= shard < parts):
        raise PuzzleError(f"there is no shard {shard!r} of {parts!r}: they count from 0")
    return a._replace(shards=1 << shard, parts=parts)


class Value:
    """A tensor on one rank, whose books are its owner; None for one that was built by hand.

    total_samples: of the whole batch. step: 0 as loaded, 1 after the update.
    """

    kind, _owner = "", None
    layer = property(lambda self: self._facts.layer)
    step = property(lambda self: self._facts.step)
    samples = property(lambda self: numbers_in(self._facts.samples))
    shards = property(lambda self: numbers_in(self._facts.shards))
    num_shards = property(lambda self: self._facts.parts)

    def memory(self) -> float:
        return self._size

    def _fill(self, facts: Facts, layers: int, total=0, owner=None, size=None) -> "Value":
        self._facts, self.layers, self.total_samples, self._owner = facts, layers, total, owner
        self._size = facts.elements() if size is None else size
        return self

    def __del__(self):  # Python holds it no longer: its memory is free
        if self._owner is not None:
            self._owner.held -= self._size

    def __copy__(self, _=None):
        return self  # a second one would have to be paid for

    __deepcopy__ = __copy__

    def __repr__(self):
        made = "" if self._owner is not None else " (built by hand)"
        return f"<{str(self._facts).removeprefix('the ')}{made}>"


class Sharded(Value):
    def combine(self, other):
        """Return the shards of both."""
        return self._made("combine", combined, other)

    def shard(self, shard: int, num_shards: int):
        """Cut shard `shard` of `num_shards` out of a whole value."""
        return self._made("shard", lambda whole: cut(whole, shard, num_shards))

    def is_complete(self) -> bool:
        return self._facts.complete

    def _made(self, op: str, rule, *others):
        """Return what `rule` makes of the facts, on the same rank; by hand from by hand."""
        values = (self, *others)
        owner = next((v._owner for v in values if getattr(v, "_owner", None)), None)
        if owner is None:
            return value_of(rule(*(v._facts for v in values)), self.layers, self.total_samples)
        return owner.new(owner.ask(op, rule, *(owner.use(v, op, self.kind) for v in values)))


class Weight(Sharded):
    """The weights of a layer. Forward and backward need all shards of it."""

    kind = WEIGHT

    def __init__(self, layer, layers, step, shards=frozenset({0}), num_shards=1):
        self._fill(Facts(self.kind, layer, 0, mask_of(shards), num_shards, step), layers)


class OptState(Weight):
    """What the optimizer keeps for a layer: of Adam, two moments and a float32 copy."""

    kind = STATE


class WeightGrad(Sharded):
    """The gradient of a layer's weights, for some of the samples."""

    kind = GRADIENT

    def __init__(self, layer, layers, samples, total_samples, shards=frozenset({0}), num_shards=1):
        facts = Facts(GRADIENT, layer, mask_of(samples), mask_of(shards), num_shards)
        self._fill(facts, layers, total_samples)

    def __add__(self, other):
        return self._made("add", added, other) if isinstance(other, WeightGrad) else NotImplemented


class Activation(Value):
    """The input of layer `layer`, for some of the samples."""

    kind = ACTIVATION

    def __init__(self, layer, layers, samples, total_samples):
        self._fill(Facts(self.kind, layer, mask_of(samples)), layers, total_samples)


class ActivationGrad(Activation):
    """The gradient of the output of layer `layer`."""

    kind = ACTIVATION_GRADIENT


CLASSES = {cls.kind: cls for cls in (Weight, OptState, WeightGrad, Activation, ActivationGrad)}


def value_of(facts: Facts, *more) -> Value:
    """Return a value of these facts; without an owner no operation takes it."""
    return object.__new__(CLASSES[facts.kind])._fill(facts, *more)
