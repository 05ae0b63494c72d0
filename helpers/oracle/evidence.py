"""The facts of both sides, ready for questions: is this what that mistake leads to?

A right gradient is a mixture of the micro-batches' gradients: each counts by its tokens. Most
mistakes lead to another mixture: a row of weights, or one for each rank.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property, partial

import torch

from helpers.oracle.compare import (
    Difference,
    Tensors,
    combine,
    common_factor,
    differences,
    distance,
    is_zero,
    on_ranks,
    same,
)
from helpers.oracle.step import KINDS, Part, Step

MOST_PARTS = 64  # more micro-batches than this are not told apart


class Evidence:
    """One device's step, and the step of every rank (each with the whole model).

    ranks: under one device's names (`aligned`); raw: as they came. names: the parameters
    that have a gradient on one device, in the model's order. parts: the gradients of each
    micro-batch. differing: for each kind of tensor what differs where both sides have it, as
    (rank, how).

    Matrices are (ranks, micro-batches). inside: 1 where a micro-batch is the rank's; None where
    nobody knows. own: what each rank may have before any communication: the mean over its own
    tokens; over its micro-batches; or the first times its share of all tokens, so that the mean
    over the ranks is the mean over all tokens.
    """

    def __init__(self, expected: Step, raw: Sequence[Step]):
        self.expected, self.raw = expected, raw
        self.ranks = [aligned(expected, rank) for rank in raw]
        self.gradients = [rank.gradients for rank in self.ranks]
        self.names = [name for name, g in expected.gradients.items() if g is not None]
        self.adaptive = expected.optimizer not in ("", "SGD")
        self.knows_weights = bool(expected.after) and all(rank.after for rank in self.ranks)
        self.differing: dict[str, list[tuple[int, Difference]]] = {}
        for kind in KINDS:
            right, held = getattr(expected, kind), [getattr(rank, kind) for rank in self.ranks]
            known = [(rank, there) for rank, there in enumerate(held) if right and there]
            found = [(rank, d) for rank, there in known for d in differences(right, there)]
            self.differing[kind] = found
        self.wrong = self.differing["gradients"]
        self.wrong_names = {difference.name for _, difference in self.wrong}
        self.parts = [part.gradients for part in expected.parts]
        self.tokens = torch.tensor([part.tokens for part in expected.parts]).double()
        self.n_ranks, self.n_micro, self.inside, self.own = len(raw), 1, None, []
        each, rest = divmod(len(self.parts), self.n_ranks)
        if each and not rest:
            self.n_micro = each
            self.inside = torch.eye(self.n_ranks).double().repeat_interleave(each, dim=1)
            weights = self.inside * self.tokens
            self.shares = weights.sum(dim=1) / self.tokens.sum()
            mean = weights / weights.sum(dim=1, keepdim=True)
            self.own = [mean, self.inside / each, weights / self.tokens.sum() * self.n_ranks]

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

    @cached_property
    def times(self) -> float | None:
        """c, where every gradient on every rank is c times what it should be."""
        return self.factor([self.expected.gradients] * self.n_ranks) if self.wrong else None

    @cached_property
    def counts(self) -> torch.Tensor | None:
        """How often each micro-batch counts in each rank's gradient; all ones is right.

        None where the gradients are no mixture of the micro-batches', or where more than one
        mixture leads to them.
        """
        if not 1 < len(self.parts) <= MOST_PARTS or not all(self.gradients):
            return None
        gram = products = 0.0
        for name in self.names:
            zero = torch.zeros_like(self.expected.gradients[name])
            each = [p[name] if p[name] is not None else zero for p in self.parts + self.gradients]
            rows = torch.stack([tensor.double().flatten() for tensor in each])
            parts, ranks = rows[: len(self.parts)], rows[len(self.parts) :]
            gram, products = gram + parts @ parts.T, products + parts @ ranks.T
        sizes = gram.diagonal().sqrt().clamp_min(1e-300)
        if torch.linalg.eigvalsh(gram / sizes / sizes[:, None])[0] < 1e-5:
            return None
        weights = torch.linalg.solve(gram, products).T
        return weights * self.tokens.sum() / self.tokens if self.holds(weights) else None

    def only(self, names: Sequence[str]) -> "Evidence":
        """Return the same evidence about the gradients of these parameters alone."""

        def pick(tensors: Tensors) -> Tensors:
            return {name: tensors.get(name) for name in names}

        parts = tuple(Part(p.tokens, pick(p.gradients)) for p in self.expected.parts)
        expected = Step({}, pick(self.expected.gradients), {}, parts=parts)
        return Evidence(expected, [Step({}, pick(g), {}) for g in self.gradients])

    def on(self, rank: int) -> str:
        return f" on rank {rank}" if self.n_ranks > 1 else ""

    def mixed(self, weights: torch.Tensor) -> list[Tensors]:
        """Return what each rank has of a mixture: (ranks, micro-batches), or a row for all."""
        rows = [combine(self.parts, row) for row in torch.atleast_2d(weights).tolist()]
        return rows if len(rows) == self.n_ranks else rows * self.n_ranks

    def holds(self, *candidates: float | torch.Tensor) -> bool:
        """Return whether the ranks hold one of these mixtures, or this many times the gradients."""
        return any(
            same(on_ranks(self.mixed(candidate)), on_ranks(self.gradients))
            if isinstance(candidate, torch.Tensor)
            else self.times is not None and abs(self.times / candidate - 1) < 1e-4
            for candidate in candidates
        )

    def factor(self, candidate: Sequence[Tensors]) -> float | None:
        """Return c where every rank's gradients are c times its candidate; c is not 0."""
        return common_factor(on_ranks(candidate), on_ranks(self.gradients)) or None

    def after_is(self, candidate: Sequence[Tensors]) -> bool:
        after = on_ranks([rank.after for rank in self.ranks])
        return self.knows_weights and same(on_ranks(candidate), after)


def aligned(expected: Step, rank: Step) -> Step:
    """Return the facts of a rank under one device's names, and None where it has zeros for a None.
    Of a tied tensor's copies, under any of its names, the one furthest from what's expected counts.
    """
    facts = {}
    for kind in KINDS:
        right, tensors, found, known = getattr(expected, kind), getattr(rank, kind), {}, set()
        for name, tensor in right.items():
            names = expected.ties.get(name, (name,))
            known.update(names)
            there = [tensors[n] for n in names if tensors.get(n) is not None]
            if tensor is None:
                there = [t for t in there if not is_zero(t)]
            elif all(t.shape == tensor.shape for t in there):
                there.sort(key=partial(distance, tensor), reverse=True)
            if any(n in tensors for n in names):
                found[name] = there[0] if there else None
        facts[kind] = found | {n: t for n, t in tensors.items() if n not in known}
    return replace(rank, **facts)
