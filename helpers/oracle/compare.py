"""Tensors against tensors, by name."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch

Tensors = Mapping[str, torch.Tensor | None]

# What another order of the same additions may change, relative to the largest entry. Float32
# keeps 7 digits and float64 16; a sum over a few thousand terms costs about two of them.
TOLERANCES = {
    torch.float64: 1e-12,
    torch.float32: 1e-5,
    torch.bfloat16: 2e-2,
    torch.float16: 2e-3,
}

# A tensor smaller than this part of the largest one is measured by that part: where the terms of a
# sum cancel (the bias of an attention's keys, for one), what is left is rounding, not digits.
SMALLEST = 0.01


@dataclass(frozen=True)
class Difference:
    """How one tensor differs from what was expected; `str()` of it is a sentence.

    kind: "missing", "unexpected", "shape", "dtype", "not finite" or "value".
    error: the largest distance of an entry (kind "value" only); scale: the largest entry expected.
    """

    name: str
    kind: str
    text: str
    error: float = 0.0
    scale: float = 0.0

    def __str__(self) -> str:
        return f"{self.name}: {self.text}"


def differences(
    expected: Tensors, actual: Tensors, tolerance: float | None = None
) -> list[Difference]:
    """The tensors that differ, in the order of `expected`; then those that nobody expected.

    A None stands for a tensor that does not exist, as `p.grad` does before the first backward.
    tolerance: the largest distance of an entry, relative to the largest entry of its tensor; by
    default one for each dtype (`TOLERANCES`). A tensor that is nearly zero is measured by a
    hundredth of the largest entry of all tensors, and one of zeros alone by that entry itself.
    """
    largest = max((_scale(t) for t in expected.values()), default=0.0)
    found = [
        difference
        for name, tensor in expected.items()
        if (difference := _difference(name, tensor, actual.get(name), tolerance, largest))
    ]
    for name, tensor in actual.items():
        if tensor is not None and name not in expected:
            found.append(Difference(name, "unexpected", "is there, and nobody expected it"))
    return found


def common_factor(
    expected: Tensors, actual: Tensors, tolerance: float | None = None
) -> float | None:
    """The number c for which every tensor of `actual` is c times that of `expected`, or None.

    c is the least-squares fit over all entries; 1.0 means that nothing differs.
    """
    pairs = [(e, actual.get(name)) for name, e in expected.items() if e is not None]
    if not pairs or any(a is None or a.shape != e.shape for e, a in pairs):
        return None
    product = sum(float((e.double() * a.double()).sum()) for e, a in pairs)
    square = sum(float((e.double() ** 2).sum()) for e, a in pairs)
    if square == 0.0:
        return None
    factor = product / square
    scaled = {name: None if e is None else e * factor for name, e in expected.items()}
    return None if differences(scaled, actual, tolerance) else factor


def explain(
    actual: Tensors,
    candidates: Mapping[str, Tensors | Callable[[], Tensors]],
    tolerance: float | None = None,
) -> str | None:
    """The first sentence whose tensors are those of `actual`, or None.

    candidates: for each well-known mistake one sentence, and the tensors that it would give (or a
    function that computes them, called only when its turn comes).
    """
    for sentence, tensors in candidates.items():
        tensors = tensors() if callable(tensors) else tensors
        if not differences(tensors, actual, tolerance):
            return sentence
    return None


def same(expected: Tensors, actual: Tensors, tolerance: float | None = None) -> bool:
    """Whether `differences` would find none; stops at the first."""
    if any(tensor is not None and name not in expected for name, tensor in actual.items()):
        return False
    largest = max((_scale(t) for t in expected.values()), default=0.0)
    return not any(
        _difference(name, tensor, actual.get(name), tolerance, largest)
        for name, tensor in expected.items()
    )


def distance(expected: torch.Tensor, actual: torch.Tensor) -> tuple[float, float]:
    """The largest distance of an entry, and the largest entry expected. Shapes must agree."""
    if expected.numel() == 0:
        return 0.0, 0.0
    return _apart(expected, actual), _scale(expected)


def _difference(
    name: str,
    expected: torch.Tensor | None,
    actual: torch.Tensor | None,
    tolerance: float | None,
    largest: float,
) -> Difference | None:
    if expected is None:
        if actual is None:
            return None
        return Difference(name, "unexpected", "is there, and should be None")
    if actual is None:
        return Difference(name, "missing", "is None, or is not there at all")
    if actual.shape != expected.shape:
        shapes = f"has the shape {tuple(actual.shape)} in place of {tuple(expected.shape)}"
        return Difference(name, "shape", shapes)
    if actual.dtype != expected.dtype:
        dtypes = f"has the dtype {actual.dtype} in place of {expected.dtype}"
        return Difference(name, "dtype", dtypes)
    if not bool(torch.isfinite(actual).all()):
        return Difference(name, "not finite", "holds NaN or infinity")
    if actual.numel() == 0:
        return None
    scale = _scale(expected)
    error = _apart(expected, actual)
    allowed = TOLERANCES.get(expected.dtype, 0.0) if tolerance is None else tolerance
    if error <= allowed * (max(scale, SMALLEST * largest) if scale else largest):
        return None
    text = f"differs by up to {error:.3g}, where the largest entry should be {scale:.3g}"
    return Difference(name, "value", text, error, scale)


def _apart(expected: torch.Tensor, actual: torch.Tensor) -> float:
    """The largest distance of an entry; float32 and float64 are exact enough as they are."""
    if expected.dtype != actual.dtype or expected.dtype not in (torch.float32, torch.float64):
        expected, actual = expected.double(), actual.double()
    return float((actual - expected).abs().max())


def _scale(tensor: torch.Tensor | None) -> float:
    """The largest entry, by its size; 0 for none."""
    if tensor is None or tensor.numel() == 0:
        return 0.0
    return float((tensor if tensor.is_floating_point() else tensor.double()).abs().max())
