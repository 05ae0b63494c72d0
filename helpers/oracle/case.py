"""The facts of both sides, ready for questions: is this what that mistake would give?"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch

from helpers.oracle.compare import (
    Difference,
    Tensors,
    common_factor,
    differences,
    distance,
    same,
)
from helpers.oracle.step import Part, Step
from helpers.oracle.tensors import combine, mean_of, on_ranks


@dataclass(frozen=True)
class Case:
    """One device's step, and the step of every rank (each with the whole model).

    ranks are under one device's names (`aligned`), raw as they came.
    shares: for each rank the numbers of its micro-batches; None where nobody knows.
    """

    expected: Step
    ranks: tuple[Step, ...]
    raw: tuple[Step, ...]
    shares: tuple[tuple[int, ...], ...] | None = None
    previous: Tensors | None = None
    tolerance: float | None = None

    @property
    def n_ranks(self) -> int:
        return len(self.ranks)

    @property
    def n_micro(self) -> int:
        """The micro-batches of one rank; 1 where nobody knows, or where ranks differ."""
        sizes = {len(share) for share in self.shares or ()}
        return sizes.pop() if len(sizes) == 1 else 1

    @property
    def tokens(self) -> list[int]:
        return [part.tokens for part in self.expected.parts]

    @cached_property
    def names(self) -> list[str]:
        """The parameters that have a gradient on one device, in the model's order."""
        return [name for name, g in self.expected.gradients.items() if g is not None]

    @cached_property
    def gradients(self) -> list[Tensors]:
        return [rank.gradients for rank in self.ranks]

    @cached_property
    def wrong(self) -> list[tuple[int, Difference]]:
        """The gradients that differ: (rank, how)."""
        return self.differing("gradients")

    @cached_property
    def wrong_weights(self) -> list[tuple[int, Difference]]:
        """The weights after the step that differ by more than the optimizer makes of rounding."""
        return [(r, d) for r, d in self.differing("after") if (r, d.name) not in self.noise]

    @cached_property
    def noise(self) -> set[tuple[int, str]]:
        """Weights that differ, and are the very ones that the optimizer makes of right gradients.

        Adam and its like divide a gradient by its own size: where it is nearly zero, its rounding
        decides which way the weight goes.
        """
        found = [(r, d.name) for r, d in self.differing("after") if d.kind == "value"]
        adaptive = self.expected.optimizer not in ("", "SGD")
        if not found or not adaptive or not all(self.gradients) or self.differing("before"):
            return set()
        wrong = {(rank, difference.name) for rank, difference in self.wrong}
        made = {r: self.expected.update(self.gradients[r])[0] for r in {r for r, _ in found}}
        return {
            (rank, name)
            for rank, name in found
            if (rank, name) not in wrong
            and same({name: made[rank][name]}, {name: self.ranks[rank].after[name]})
        }

    @cached_property
    def wrong_names(self) -> set[str]:
        return {difference.name for _, difference in self.wrong}

    def differing(self, kind: str) -> list[tuple[int, Difference]]:
        """What differs in "before", "gradients", "after" or "state", where both sides have it."""
        return self._differing[kind]

    @cached_property
    def _differing(self) -> dict[str, list[tuple[int, Difference]]]:
        found = {}
        for kind in ("before", "gradients", "after", "state"):
            pairs = [(getattr(self.expected, kind), getattr(rank, kind)) for rank in self.ranks]
            known = [(r, e, a) for r, (e, a) in enumerate(pairs) if e and a]
            found[kind] = [(r, d) for r, e, a in known for d in differences(e, a, self.tolerance)]
        return found

    def on(self, rank: int) -> str:
        """ " on rank 2", and nothing where there is one rank alone."""
        return f" on rank {rank}" if self.n_ranks > 1 else ""

    @cached_property
    def probe(self) -> "Case":
        """Two small tensors of this case: what they exclude needs no look at all the others."""
        scales = {name: distance(g, g)[1] for name in self.names if (g := self._right(name)).any()}
        clear = [name for name, scale in scales.items() if scale >= 0.1 * max(scales.values())]
        return self.only(sorted(clear, key=lambda name: self._right(name).numel())[:2])

    def _right(self, name: str) -> torch.Tensor:
        return self.expected.gradients[name]

    def only(self, names: Sequence[str]) -> "Case":
        """The same case, of the gradients of these parameters alone."""

        def pick(tensors: Tensors) -> Tensors:
            return {name: tensors.get(name) for name in names}

        expected = Step(
            before={},
            gradients=pick(self.expected.gradients),
            after={},
            parts=tuple(Part(p.tokens, pick(p.gradients)) for p in self.expected.parts),
        )
        ranks = tuple(Step({}, pick(g), {}) for g in self.gradients)
        previous = None if self.previous is None else pick(self.previous)
        return Case(expected, ranks, ranks, self.shares, previous, self.tolerance)

    # --- what one device's micro-batches would give ----------------------------------------------

    def parts(self, rank: int) -> list[Tensors]:
        return [self.expected.parts[number].gradients for number in self.shares[rank]]

    def weights(self, rank: int) -> list[int]:
        return [self.tokens[number] for number in self.shares[rank]]

    @cached_property
    def own(self) -> list[Tensors]:
        """Each rank's gradients before any communication: the mean over its own tokens."""
        ranks = range(self.n_ranks)
        return [mean_of(self.parts(rank), self.weights(rank)) for rank in ranks]

    @cached_property
    def own_unweighted(self) -> list[Tensors]:
        return [mean_of(self.parts(rank)) for rank in range(self.n_ranks)]

    @property
    def owns(self) -> list[list[Tensors]]:
        """What each rank may have of its own: by tokens; plain; or times its share of all tokens,
        so that the mean over the ranks is the mean over all tokens."""
        counts = [sum(self.weights(rank)) for rank in range(self.n_ranks)]
        shares = [self.n_ranks * count / sum(counts) for count in counts]
        by_share = [combine([g], [share]) for g, share in zip(self.own, shares, strict=True)]
        return [self.own, self.own_unweighted, by_share]

    def over_ranks(self, each: Sequence[Tensors]) -> list[Tensors]:
        """The mean over the ranks of what each has, by tokens and plain."""
        return [mean_of(each, [sum(self.weights(r)) for r in range(self.n_ranks)]), mean_of(each)]

    # --- questions -------------------------------------------------------------------------------

    def everywhere(self, candidates: Iterable[Tensors]) -> bool:
        """Whether every rank holds the gradients of one of the candidates."""
        return any(self.each([candidate] * self.n_ranks) for candidate in candidates)

    def each(self, candidate: Sequence[Tensors]) -> bool:
        """Whether every rank holds its own one of these gradients."""
        return same(on_ranks(candidate), on_ranks(self.gradients), self.tolerance)

    def factor(self, candidate: Sequence[Tensors]) -> float | None:
        """c, where every rank's gradients are c times its candidate; c is not 0."""
        return common_factor(on_ranks(candidate), on_ranks(self.gradients), self.tolerance) or None

    @cached_property
    def times(self) -> float | None:
        """c, where every gradient on every rank is c times what it should be."""
        return self.factor([self.expected.gradients] * self.n_ranks) if self.wrong else None

    def is_times(self, *numbers: float) -> bool:
        return self.times is not None and any(abs(self.times / n - 1) < 1e-4 for n in numbers)

    # --- weights ---------------------------------------------------------------------------------

    @property
    def knows_weights(self) -> bool:
        return bool(self.expected.after) and all(rank.after for rank in self.ranks)

    def after_is(self, candidate: Sequence[Tensors]) -> bool:
        """Whether every rank's weights after the step are these."""
        after = [rank.after for rank in self.ranks]
        return self.knows_weights and same(on_ranks(candidate), on_ranks(after), self.tolerance)

    def moved_differently(self) -> tuple[float, float]:
        """The largest distance of a weight from the right one, and the largest move of a weight."""
        e = self.expected
        pairs = [(e.after[n], r.after[n]) for r in self.ranks for n in e.after if n in r.after]
        apart = max((distance(right, is_)[0] for right, is_ in pairs), default=0.0)
        return apart, max(distance(e.before[n], e.after[n])[0] for n in e.after)
