"""What the cluster knows of a value, and the arithmetic of it. Everything here is pure.

Samples are a bit mask, bit i for sample i, and so are shards. A shard k of n parts is the interval
from k/n to (k+1)/n of a layer's parameters.
"""

from fractions import Fraction
from typing import NamedTuple

from cluster.errors import Doubled, Misplaced, Missing, Stale, WrongShard
from helpers.words import listed

WEIGHT, STATE, GRADIENT = "weight", "optimizer state", "weight gradient"
ACTIVATION, ACTIVATION_GRADIENT = "activation", "activation gradient"
SHARDED = (WEIGHT, STATE, GRADIENT)
MOST_PARTS = 1 << 12  # into which a layer can be cut; more than a simulated cluster has ranks


class Facts(NamedTuple):
    """kind: one of the words above. samples, shards: masks. parts: of all
    shards. step: 0, after update 1."""

    kind: str
    layer: int
    samples: int = 0
    shards: int = 1
    parts: int = 1
    step: int = 0

    @property
    def complete(self) -> bool:
        """Whether every shard is there."""
        return self.shards.bit_count() == self.parts


def mask_of(samples) -> int:
    """A mask of sample numbers; Doubled if one comes twice."""
    mask = 0
    for sample in samples:
        bit = 1 << sample
        if mask & bit:
            raise Doubled(f"sample {sample} is in the list twice: each sample counts once")
        mask |= bit
    return mask


def numbers_in(mask: int) -> frozenset[int]:
    """The samples or the shards of a mask."""
    return frozenset(i for i, bit in enumerate(reversed(bin(mask)[2:])) if bit == "1")


def numbers(found, word: str = "sample") -> str:
    """{0, 1, 2, 3} -> "samples 0 to 3"; {1, 5} -> "samples 1 and 5"; {7} -> "sample 7"."""
    found = sorted(found)
    if not found:
        return f"no {word}"
    if len(found) == 1:
        return f"{word} {found[0]}"
    if found[-1] - found[0] == len(found) - 1 and len(found) > 2:
        return f"{word}s {found[0]} to {found[-1]}"
    if len(found) > 6:
        return f"{len(found)} {word}s ({found[0]}, {found[1]}, {found[2]} …)"
    return f"{word}s {listed(map(str, found))}"


def words(facts: Facts) -> str:
    """The value in words: "the weight gradient of layer 3, shard 1 of 4, for samples 0 to 7"."""
    text = f"the {facts.kind} of layer {facts.layer}"
    if facts.kind in SHARDED and facts.parts > 1:
        text += f", {numbers(numbers_in(facts.shards), 'shard')} of {facts.parts}"
    if facts.kind not in (WEIGHT, STATE):
        text += f", for {numbers(numbers_in(facts.samples))}"
    return text


def covers(a: Facts, b: Facts) -> bool:
    """Whether the shards of `a` hold every parameter that those of `b` do."""
    if a.parts == b.parts:  # as nearly always
        return not b.shards & ~a.shards
    return _spans([a, b]) == _spans([a])


def missing_parts(pieces: list[Facts]) -> bool:
    """Whether some parameter of the layer is in none of the pieces."""
    return _spans(pieces) != [(0, 1)]


def _spans(pieces: list[Facts]) -> list[tuple[Fraction, Fraction]]:
    """The intervals that the pieces fill together, in order; those that touch are one.

    Takes time and memory for the shards that are there, into however many parts the layer is cut.
    """
    joined: list[tuple[Fraction, Fraction]] = []
    for start, end in sorted(
        (Fraction(k, piece.parts), Fraction(k + 1, piece.parts))
        for piece in pieces
        for k in numbers_in(piece.shards)
    ):
        if joined and start <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(end, joined[-1][1])
        else:
            joined.append((start, end))
    return joined


def added(a: Facts, b: Facts) -> Facts:
    """The sum of two gradients. Misplaced, WrongShard, Stale, Doubled."""
    if a.kind != GRADIENT or b.kind != GRADIENT:
        raise Misplaced(f"{words(a)} and {words(b)} cannot be added: only weight gradients can")
    if a.layer != b.layer:
        raise Misplaced(f"{words(a)} and {words(b)} belong to two layers, and cannot be added")
    if (a.shards, a.parts) != (b.shards, b.parts):
        raise WrongShard(f"{words(a)} and {words(b)} are different parts of it: bring both alike")
    if both := a.samples & b.samples:
        raise Doubled(
            f"{numbers(numbers_in(both))} would count twice in the gradient of layer {a.layer}: "
            "it is in both that are added"
        )
    return a._replace(samples=a.samples | b.samples)


def combined(a: Facts, b: Facts) -> Facts:
    """Shards of one thing put together. Misplaced, WrongShard, Stale, Missing."""
    if a.kind != b.kind or a.kind not in SHARDED:
        raise Misplaced(f"{words(a)} and {words(b)} cannot be put together: only shards can")
    if a.layer != b.layer:
        raise Misplaced(f"{words(a)} and {words(b)} belong to two layers")
    if a.parts != b.parts:
        raise WrongShard(f"{words(a)} and {words(b)} were cut into different numbers of shards")
    if a.step != b.step:
        raise Stale(f"{words(a)} is of step {a.step}, and {words(b)} of step {b.step}")
    if a.samples != b.samples:
        raise Missing(f"{words(a)} and {words(b)} stand for different samples: reduce them first")
    return a._replace(shards=a.shards | b.shards)


def cut(a: Facts, shard: int, parts: int) -> Facts:
    """One shard of something whole. Misplaced, WrongShard."""
    if a.kind not in SHARDED:
        raise Misplaced(f"{words(a)} cannot be cut into shards")
    if not a.complete:
        raise WrongShard(f"{words(a)} is not whole, so it cannot be cut again: gather it first")
    if problem := no_shard(shard, parts):
        raise WrongShard(problem)
    return a._replace(shards=1 << shard, parts=parts)


def no_shard(shard, parts) -> str:
    """Why there is no shard `shard` of `parts`, in words; "" where there is one."""
    if not (type(shard) is type(parts) is int and 0 <= shard < parts):
        return f"there is no shard {shard!r} of {parts!r}: they count from 0"
    if parts > MOST_PARTS:
        return f"a layer can be cut into at most {MOST_PARTS:,} shards"
    return ""
