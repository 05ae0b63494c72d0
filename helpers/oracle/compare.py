"""Compare tensors by name, and take sums and means of them as one device would."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch

Tensors = Mapping[str, torch.Tensor | None]

# What another order of the same additions may change, relative to the largest entry. Float32
# keeps 7 digits and float64 16; a sum over a few thousand terms costs about two of them.
TOLERANCES = {torch.float64: 1e-12, torch.float32: 1e-5, torch.bfloat16: 2e-2, torch.float16: 2e-3}

# A tensor smaller than this part of the largest one is measured by that part: where the terms of a
# sum cancel (the bias of an attention's keys, for one), what is left is rounding, not digits.
SMALLEST = 0.01


@dataclass(frozen=True)
class Difference:
    """How one tensor differs from what was expected."""

    name: str
    kind: str  # "missing", "unexpected", "shape", "dtype", "not finite" or "value"
    text: str  # the same in words, to follow the name
    error: float = 0.0  # the largest distance of an entry
    scale: float = 0.0  # the largest entry expected


def differences(
    expected: Tensors, actual: Tensors, tolerance: float | None = None
) -> list[Difference]:
    """Return the tensors that differ, in the order of `expected`; then those nobody expected.

    A None stands for a tensor that doesn't exist, as `p.grad` does before the first backward. A
    tensor that is nearly zero is measured by a hundredth of the largest entry of all tensors, and
    one of zeros alone by that entry itself.
    """
    most, found = max((largest(t) for t in expected.values() if t is not None), default=0.0), []
    for name in expected | actual:
        right, there = expected.get(name), actual.get(name)
        if right is None and there is not None:
            why = "should be None" if name in expected else "nobody expected it"
            found.append(Difference(name, "unexpected", f"is there, and {why}"))
        elif right is not None and there is None:
            found.append(Difference(name, "missing", "is None, or is not there at all"))
        elif right is not None:
            floor = SMALLEST * most if largest(right) else most
            found.append(_compared(name, right, there, tolerance, floor))
    return list(filter(None, found))


def same(expected: Tensors, actual: Tensors, tolerance: float | None = None) -> bool:
    return not differences(expected, actual, tolerance)


def _compared(name: str, expected, actual, tolerance, floor: float) -> Difference | None:
    """Compare two tensors: shape, dtype, and values; None where they agree.

    An entry may be off by `tolerance` times the largest entry expected (or `floor`, where that is
    larger) and as much of its own size again. Whole numbers and booleans must be equal. Two NaN
    are equal, and so are two infinities of one sign.
    """
    if actual.shape != expected.shape:
        shapes = f"has the shape {tuple(actual.shape)} in place of {tuple(expected.shape)}"
        return Difference(name, "shape", shapes)
    if actual.dtype != expected.dtype:
        one, other = (str(t.dtype).removeprefix("torch.") for t in (actual, expected))
        return Difference(name, "dtype", f"has the dtype {one} in place of {other}")
    scale, allowed = largest(expected), 0.0
    if expected.is_floating_point() or expected.is_complex():
        allowed = TOLERANCES.get(expected.dtype, 1e-5) if tolerance is None else tolerance
    if torch.allclose(actual, expected, allowed, allowed * max(scale, floor), equal_nan=True):
        return None
    if not bool(torch.isfinite(actual).all()):
        return Difference(name, "not finite", "holds NaN or infinity")
    error = distance(expected, actual)
    text = f"differs by up to {error:.3g}, where the largest entry should be {scale:.3g}"
    return Difference(name, "value", text, error, scale)


def common_factor(
    expected: Tensors, actual: Tensors, tolerance: float | None = None
) -> float | None:
    """Return the number c for which every tensor of `actual` is c times that of `expected`, the
    least-squares fit over all entries; None where there is none."""
    pairs = [(e, actual.get(name)) for name, e in expected.items() if e is not None]
    if any(a is None or a.shape != e.shape for e, a in pairs):
        return None
    product = sum(float((e.double() * a.double()).sum()) for e, a in pairs)
    square = sum(float((e.double() ** 2).sum()) for e, a in pairs)
    if square == 0.0:
        return None
    factor = product / square
    scaled = {name: None if e is None else e * factor for name, e in expected.items()}
    return factor if same(scaled, actual, tolerance) else None


def combine(parts: Sequence[Tensors], weights: Sequence[float]) -> dict[str, torch.Tensor | None]:
    """Return the sum of weight * tensor by name, computed in float64 and rounded to its dtype.

    None counts as zeros; it stays None where no part that counts has the tensor.
    """
    total = {}
    for name in parts[0]:
        there = [(p[name], w) for p, w in zip(parts, weights, strict=True) if p[name] is not None]
        sums = sum(tensor.double() * w for tensor, w in there if w)
        total[name] = sums.to(there[0][0].dtype) if isinstance(sums, torch.Tensor) else None
    return total


def on_ranks(ranks: Sequence[Tensors]) -> Tensors:
    """Return the tensors of all ranks in one dict: "weight on rank 1"."""
    named = ((rank, name, t) for rank, tensors in enumerate(ranks) for name, t in tensors.items())
    return {f"{name} on rank {rank}": tensor for rank, name, tensor in named}


def distance(expected: torch.Tensor, actual: torch.Tensor) -> float:
    """Return the largest distance of an entry, infinite where one of the two is no number."""
    one, other = (t if t.is_complex() else t.double() for t in (expected, actual))
    gap = (other - one).abs().nan_to_num(nan=math.inf, posinf=math.inf)
    alike = (one == other) | (one.isnan() & other.isnan())
    return float(gap.masked_fill(alike, 0.0).max()) if gap.numel() else 0.0


def is_zero(tensor: torch.Tensor | None) -> bool:
    return tensor is None or not bool(tensor.any())


def largest(tensor: torch.Tensor) -> float:
    """Return the size of the largest finite entry; 0 for none."""
    sizes = (tensor if tensor.is_complex() else tensor.double()).abs()
    return float(sizes.nan_to_num(nan=0.0, posinf=0.0).max()) if sizes.numel() else 0.0
