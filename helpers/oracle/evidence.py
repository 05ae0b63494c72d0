"""The facts of both sides, ready for questions: is this what that mistake leads to?"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import torch

from helpers.oracle.compare import (
    Difference,
    Tensors,
    combine,
    common_factor,
    differences,
    distance,
    is_zero,
    mean_of,
    on_ranks,
    same,
)
from helpers.oracle.step import KINDS, Part, Step

MOST_PARTS = 64  # more micro-batches than this are not told apart


@dataclass(frozen=True)
class Evidence:
    """One device's step, and the step of every rank (each with the whole model).

    ranks: under one device's names (`aligned`); raw: as they came. shares: for each rank the
    numbers of its micro-batches; None where nobody knows. previous: the step before's gradients.
    """

    expected: Step
    ranks: tuple[Step, ...]
    raw: tuple[Step, ...]
    shares: tuple[tuple[int, ...], ...] | None = None
    previous: Tensors | None = None

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
        return self.differing["gradients"]

    @cached_property
    def wrong_names(self) -> set[str]:
        return {difference.name for _, difference in self.wrong}

    @cached_property
    def wrong_weights(self) -> list[tuple[int, Difference]]:
        """The weights after the step that differ by more than the optimizer makes of rounding.

        Adam and its like divide a gradient by its own size: where it is nearly zero, its rounding
        decides which way the weight goes. So a weight is right, too, if this optimizer leads to it
        from the rank's own gradients, and the gradient is right.
        """
        found = self.differing["after"]
        plain = all(d.kind == "value" for _, d in [*found, *self.wrong])
        if not found or not plain or not self.adaptive or not all(self.gradients):
            return found
        wrong = {(rank, difference.name) for rank, difference in self.wrong}
        made = {r: self.expected.update(self.gradients[r]) for r in {r for r, _ in found}}
        return [
            (r, d)
            for r, d in found
            if (r, d.name) in wrong
            or not same({d.name: made[r][d.name]}, {d.name: self.ranks[r].after[d.name]})
        ]

    @property
    def adaptive(self) -> bool:
        return self.expected.optimizer not in ("", "SGD")

    @cached_property
    def differing(self) -> dict[str, list[tuple[int, Difference]]]:
        """What differs, for each kind of tensor, where both sides have it."""
        found = {}
        for kind in KINDS:
            pairs = [(getattr(self.expected, kind), getattr(rank, kind)) for rank in self.ranks]
            known = [(r, e, a) for r, (e, a) in enumerate(pairs) if e and a]
            found[kind] = [(r, d) for r, e, a in known for d in differences(e, a)]
        return found

    def on(self, rank: int) -> str:
        """ " on rank 2", and nothing where there is one rank alone."""
        return f" on rank {rank}" if self.n_ranks > 1 else ""

    def only(self, names: Sequence[str]) -> "Evidence":
        """The same evidence about the gradients of these parameters alone."""

        def pick(tensors: Tensors) -> Tensors:
            return {name: tensors.get(name) for name in names}

        parts = tuple(Part(p.tokens, pick(p.gradients)) for p in self.expected.parts)
        expected = Step({}, pick(self.expected.gradients), {}, parts=parts)
        ranks = tuple(Step({}, pick(g), {}) for g in self.gradients)
        previous = None if self.previous is None else pick(self.previous)
        return Evidence(expected, ranks, ranks, self.shares, previous)

    # --- what one device's micro-batches lead to -------------------------------------------------

    def parts(self, rank: int) -> list[Tensors]:
        return [self.expected.parts[number].gradients for number in self.shares[rank]]

    def tokens_of(self, rank: int) -> list[int]:
        return [self.tokens[number] for number in self.shares[rank]]

    @cached_property
    def owns(self) -> tuple[list[Tensors], list[Tensors], list[Tensors]]:
        """What each rank may have before any communication: the mean over its own tokens; over its
        micro-batches; or the first times its share of all tokens, so that the mean over the ranks
        is the mean over all tokens."""
        ranks, total = range(self.n_ranks), sum(self.tokens)
        own = [mean_of(self.parts(rank), self.tokens_of(rank)) for rank in ranks]
        shares = [self.n_ranks * sum(self.tokens_of(rank)) / total for rank in ranks]
        by_share = [combine([g], [share]) for g, share in zip(own, shares, strict=True)]
        return own, [mean_of(self.parts(rank)) for rank in ranks], by_share

    def over_ranks(self, each: Sequence[Tensors]) -> list[Tensors]:
        """The mean over the ranks of what each has, by tokens and plain."""
        return [mean_of(each, [sum(self.tokens_of(r)) for r in range(self.n_ranks)]), mean_of(each)]

    @cached_property
    def counts(self) -> torch.Tensor | None:
        """How often each micro-batch counts in each rank's gradient: (ranks, micro-batches).

        All ones is right. None where the gradients are no mixture of the micro-batches', or where
        more than one mixture leads to them.
        """
        parts = [part.gradients for part in self.expected.parts]
        if not 1 < len(parts) <= MOST_PARTS or not all(self.gradients):
            return None

        def rows(tensors: Sequence[Tensors], name: str) -> torch.Tensor:
            like = self.expected.gradients[name]
            each = [torch.zeros_like(like) if t[name] is None else t[name] for t in tensors]
            return torch.stack([tensor.double().flatten() for tensor in each])

        gram = sum(rows(parts, name) @ rows(parts, name).T for name in self.names)
        products = sum(rows(parts, name) @ rows(self.gradients, name).T for name in self.names)
        sizes = gram.diagonal().sqrt().clamp_min(1e-300)
        if torch.linalg.eigvalsh(gram / sizes / sizes[:, None])[0] < 1e-5:
            return None
        mixtures = torch.linalg.solve(gram, products).T
        for gradients, mixture in zip(self.gradients, mixtures, strict=True):
            if not same(combine(parts, mixture.tolist()), gradients):
                return None
        return mixtures * sum(self.tokens) / torch.tensor(self.tokens, dtype=torch.float64)

    # --- questions -------------------------------------------------------------------------------

    def everywhere(self, candidates: Iterable[Tensors]) -> bool:
        """Return whether every rank holds the gradients of one of the candidates."""
        return any(self.each([candidate] * self.n_ranks) for candidate in candidates)

    def each(self, candidate: Sequence[Tensors]) -> bool:
        """Return whether every rank holds its own one of these gradients."""
        return same(on_ranks(candidate), on_ranks(self.gradients))

    def factor(self, candidate: Sequence[Tensors]) -> float | None:
        """Return c where every rank's gradients are c times its candidate; c is not 0."""
        return common_factor(on_ranks(candidate), on_ranks(self.gradients)) or None

    @cached_property
    def times(self) -> float | None:
        """c, where every gradient on every rank is c times what it should be."""
        return self.factor([self.expected.gradients] * self.n_ranks) if self.wrong else None

    def is_times(self, *numbers: float) -> bool:
        return self.times is not None and any(abs(self.times / n - 1) < 1e-4 for n in numbers)

    @property
    def knows_weights(self) -> bool:
        return bool(self.expected.after) and all(rank.after for rank in self.ranks)

    def after_is(self, candidate: Sequence[Tensors]) -> bool:
        """Return whether every rank's weights after the step are these."""
        after = [rank.after for rank in self.ranks]
        return self.knows_weights and same(on_ranks(candidate), on_ranks(after))


def aligned(expected: Step, rank: Step) -> Step:
    """Return the facts of a rank under one device's names, and None where it has zeros for a None.

    A tied tensor may come under any of its names. Where copies differ, the one furthest from what
    was expected counts.
    """
    both = {kind: (getattr(expected, kind), getattr(rank, kind)) for kind in KINDS}
    return replace(rank, **{kind: _aligned(expected, *pair) for kind, pair in both.items()})


def copies(expected: Step, name: str, tensors: Tensors) -> list[torch.Tensor]:
    """Return what a rank holds of one tensor, under each of its names."""
    names = expected.ties.get(name, (name,))
    return [tensors[n] for n in names if tensors.get(n) is not None]


def _aligned(expected: Step, right: Tensors, tensors: Tensors) -> Tensors:
    if not tensors:
        return {}
    other = {name for names in expected.ties.values() for name in names}
    held = {n: any(m in tensors for m in expected.ties.get(n, (n,))) for n in right}
    found = {name: None for name in right if held[name]}
    for name in found:
        there = copies(expected, name, tensors)
        if right[name] is None and all(is_zero(tensor) for tensor in there):
            continue
        fits = [t for t in there if right[name] is not None and t.shape == right[name].shape]
        if there:
            far = [distance(right[name], tensor)[0] for tensor in fits]
            found[name] = fits[far.index(max(far))] if len(fits) == len(there) else there[0]
    return found | {n: t for n, t in tensors.items() if n not in found and n not in other}
