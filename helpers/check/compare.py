"""Where two observations differ, as a sentence: "rank 2, gradient, weight: 1.5 in place of 0.5".

An observation is plain data: dicts, lists, tuples, numbers, text, tensors and arrays. What stands
below a key that begins with "_" isn't compared. Lists and tuples are alike; True isn't 1.
"""

import math
from collections.abc import Iterator
from numbers import Number
from typing import Any

import torch

TOLERANCES = {torch.float64: 1e-9, torch.float32: 1e-5, torch.float16: 1e-2, torch.bfloat16: 2e-2}


def same(expected: Any, seen: Any, tolerance: float | None = None) -> bool:
    """Return whether two observations agree: what they contain, shapes, dtypes, and values."""
    return next(differences(expected, seen, tolerance), None) is None


def where(expected: Any, seen: Any, ranks: int, tolerance: float | None) -> str:
    """Return the first place that differs, how many there are, and a common factor, in words."""
    if ranks and isinstance(seen, list) and len(expected) == len(seen):
        expected, seen = _numbered("rank", expected), _numbered("rank", seen)
    found = list(differences(expected, seen, tolerance))
    factor = None if isinstance(expected, int | float) else common_factor(expected, seen)
    times = f"; every number is {factor:.4g} times what it should be" if factor else ""
    return found[0] + times + (f" ({len(found)} places differ)" if len(found) > 1 else "")


def differences(
    expected: Any, seen: Any, tolerance: float | None = None, place: tuple[str, ...] = ()
) -> Iterator[str]:
    """Yield every place where `seen` isn't what was expected."""
    at = f"{', '.join(place)}: " if place else ""
    expected, seen = map(_python, (expected, seen))
    lists = isinstance(expected, list | tuple), isinstance(seen, list | tuple)
    if all(lists) and len(expected) == len(seen):
        expected, seen = (_numbered("number", each) for each in (expected, seen))
    if isinstance(expected, dict) and isinstance(seen, dict):
        for key in [key for key in expected if not str(key).startswith("_")]:
            if key in seen:
                yield from differences(expected[key], seen[key], tolerance, (*place, str(key)))
            else:
                yield f"{', '.join((*place, str(key)))}: is missing"
        for key in seen.keys() - expected.keys():
            yield f"{', '.join((*place, str(key)))}: should not be there"
    elif isinstance(expected, dict):  # a text is what the observer says of it
        yield at + (seen if isinstance(seen, str) else f"{short(seen)} in place of a dict")
    elif lists[0]:
        other = f"{short(seen)} in place of a list of"
        yield f"{at}{f'{len(seen)} entries in place of' if lists[1] else other} {len(expected)}"
    elif _has_shape(expected) and _has_shape(seen):
        if what := _of_tensors(torch.as_tensor(expected), torch.as_tensor(seen), tolerance):
            yield at + what
    elif not _equal(expected, seen, tolerance):
        yield f"{at}{short(seen)} in place of {short(expected)}"


def common_factor(expected: Any, seen: Any) -> float | None:
    """Return f where every number seen is f times what was expected, with f not 1; else None."""
    one, other = ([x for x in leaves(o) if isinstance(x, int | float)] for o in (expected, seen))
    if len(one) != len(other) or not one:
        return None
    a, b = (torch.tensor(numbers, dtype=torch.float64) for numbers in (one, other))
    largest = a.abs().argmax()
    factor = (b[largest] / a[largest]).item() if a[largest] else 0.0
    if not factor or not math.isfinite(factor) or math.isclose(factor, 1, rel_tol=1e-4):
        return None
    close = torch.allclose(b, factor * a, rtol=1e-4, atol=1e-6 * abs(factor * a[largest].item()))
    return factor if close else None


def short(value: Any) -> str:
    if _has_shape(value):
        sizes = " x ".join(map(str, value.shape))
        return f"a tensor of {sizes}" if sizes else f"a tensor with {value.item():.4g}"
    text = f"{value:.4g}" if isinstance(value, float) else repr(value)
    return text if len(text) <= 60 else text[:57] + "…"


def _numbered(word: str, many: list) -> dict:
    return {f"{word} {number}": one for number, one in enumerate(many)}


def _python(value: Any) -> Any:
    return value.item() if isinstance(value, Number) and hasattr(value, "item") else value


def _has_shape(value: Any) -> bool:
    return hasattr(value, "shape") and hasattr(value, "dtype") and hasattr(value, "ndim")


def _of_tensors(right: torch.Tensor, seen: torch.Tensor, tolerance: float | None) -> str:
    """An entry may be off by `tolerance` times the largest one, and as much of its own size."""
    if right.shape != seen.shape:
        return f"has the shape {tuple(seen.shape)} in place of {tuple(right.shape)}"
    if right.dtype != seen.dtype:
        names = (str(t.dtype).removeprefix("torch.") for t in (seen, right))
        return "has the dtype {} in place of {}".format(*names)
    relative = TOLERANCES.get(right.dtype, 1e-5) if tolerance is None else tolerance
    if not (right.is_floating_point() or right.is_complex()):
        relative = 0.0
    kind = torch.complex128 if right.is_complex() else torch.float64
    a, b = right.detach().to(kind), seen.detach().to(kind)
    most = a[a.isfinite()].abs().max().item() if a.isfinite().any() else 0.0
    wrong = ~torch.isclose(b, a, rtol=relative, atol=relative * most, equal_nan=True)
    if not wrong.any():
        return ""
    off = ((a - b).abs() - relative * a.abs()).nan_to_num(math.inf)
    worst = torch.where(wrong, off, -1.0).argmax().item()
    one, other = (value.reshape(-1)[worst].item() for value in (seen, right))
    texts = [short(one), short(other)]
    texts = [repr(one), repr(other)] if texts[0] == texts[1] else texts  # four digits don't show it
    index = tuple(int(i) for i in torch.unravel_index(torch.tensor(worst), right.shape))
    return " in place of ".join(texts) + (f" at {index}" if right.ndim else "")


def _equal(expected: Any, seen: Any, tolerance: float | None) -> bool:
    if isinstance(expected, bool) or isinstance(seen, bool):
        return expected is seen
    if isinstance(expected, float) and isinstance(seen, int | float):
        relative = 1e-9 if tolerance is None else tolerance
        close = math.isclose(expected, seen, rel_tol=relative, abs_tol=1e-12)
        return close or (math.isnan(expected) and math.isnan(seen))
    if isinstance(expected, int) and isinstance(seen, float):
        return expected == seen
    return type(expected) is type(seen) and expected == seen


def leaves(value: Any) -> list:
    """Return the numbers and words of an observation, in the order of their keys."""
    if isinstance(value, dict):
        value = [value[key] for key in sorted(value, key=str) if not str(key).startswith("_")]
    if isinstance(value, list | tuple):
        return [leaf for one in value for leaf in leaves(one)]
    return torch.as_tensor(value).detach().flatten().tolist() if _has_shape(value) else [value]
