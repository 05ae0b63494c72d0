"""Round numbers for axes."""

import math


def ticks(low: float, high: float, at_most: int = 8) -> list[float]:
    """Round values (steps of 1, 2 or 5 times a power of ten) within low..high, `at_most` of them.

    Gives the one value where there is no range.
    """
    if not high > low:
        return [low]
    step = 10.0 ** math.floor(math.log10((high - low) / at_most))
    while True:
        for factor in (1, 2, 5):
            first = math.ceil(low / (factor * step) - 1e-9)
            last = math.floor(high / (factor * step) + 1e-9)
            if last - first < at_most:
                return [i * factor * step for i in range(first, last + 1)]
        step *= 10


def labels(values: list[float]) -> list[str]:
    """The values with as many decimals as their step needs: all the same number of them."""
    step = min((b - a for a, b in zip(values, values[1:], strict=False)), default=0)
    if not step:
        return [f"{value:g}" for value in values]
    if max(abs(v) for v in values) >= 1e7 or step < 1e-6:
        return [f"{value:g}" for value in values]
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    return [f"{value + 0.0:,.{decimals}f}" for value in values]
