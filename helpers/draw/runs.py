"""Curves over steps: the loss of several runs, and the floor below which none can fall.

Each curve carries its name at its end. Curves differ by dashes and markers as well as by color.
Two runs that give the same numbers are the finding of many lessons, so one curve must not hide
the other: the lower ones are wide and pale, the topmost thin and dashed.
"""

import math
from collections.abc import Collection, Mapping, Sequence

from helpers.draw.picture import PAD, Canvas, Picture
from helpers.draw.plot import QUIET, Curve, draw_plot, value_text
from helpers.draw.style import CURVES
from helpers.words import listed, significant

DASHES = ((), (7, 3), (2, 3), (10, 3, 2, 3), (14, 4), (4, 2))


def curves(
    runs: Mapping[str, Sequence[float] | Mapping[float, float]],
    title: str | None = None,
    *,
    floor: float | None = None,
    quiet: Collection[str] = (),
    x: str = "step",
    y: str = "loss (nats per token)",
    log: str = "",
    theme: str = "light",
) -> Picture:
    """Draw several runs: ``curves({"one device": losses, "3 ranks": others}, floor=1.9)``.

    Args:
        runs: the values of each run at its steps 0, 1, 2 ..., or {step: value}. A value that isn't
            finite breaks the curve, and its name says so.
        title: what was found, in a sentence; without one, the picture has none.
        quiet: the runs in the background, thin and gray, that the others are compared with.
        floor: a line below which no curve can fall.
        x, y: what the axes show, with the unit.
        log: "x", "y" or "xy" for logarithmic axes; what they show must be above 0.
        theme: "light" or "dark".

    Raises:
        ValueError: if there are no runs, or if a logarithmic axis should show 0 or less.
    """
    if not runs:
        raise ValueError("curves() needs at least one run: {'name': [values]}")
    order = sorted(runs, key=lambda name: name not in quiet)  # those in the background first
    drawn = [
        _curve(name, runs[name], i - len(quiet), name in quiet) for i, name in enumerate(order)
    ]
    for curve in drawn:
        for step, value in curve.points:
            if ("x" in log and step <= 0) or ("y" in log and value <= 0):
                raise ValueError(
                    f"{curve.name} has {value:g} at {step:g}, and a logarithmic axis shows "
                    "numbers above 0 only: leave this point out, or draw without log"
                )
    canvas = Canvas(theme=theme)
    top = canvas.heading(title or "")
    title = title or _found(drawn, x)
    canvas.text(PAD, top + 14, y, 11, canvas.theme.muted)
    canvas.height = draw_plot(canvas, drawn, floor, (x, y), top + 30, log)
    return Picture(canvas, title, _alt(title, drawn, floor, x, y))


def _curve(name: str, values, number: int, quiet: bool) -> Curve:
    pairs = values.items() if isinstance(values, Mapping) else enumerate(values)
    pairs = sorted((float(step), float(value)) for step, value in pairs)
    broken = next((step for step, value in pairs if not math.isfinite(value)), None)
    points = [(step, value) for step, value in pairs if math.isfinite(value)]
    if quiet:
        return Curve(name, points, broken, "", (), number, QUIET)
    look = CURVES[number % len(CURVES)], DASHES[number % len(DASHES)]
    return Curve(name, points, broken, *look, number)


def _found(drawn: list[Curve], x: str) -> str:
    """Say what the curves show, for those who can't see them."""
    broken = [c for c in drawn if c.broken is not None]
    if broken:
        return listed(f"{c.name} is not a number at {x} {c.broken:g}" for c in broken)
    nonempty = [c for c in drawn if c.points]
    if not nonempty:
        return "no values"
    if len(drawn) == 1:
        (_, first), (step, last) = nonempty[0].points[0], nonempty[0].points[-1]
        start = f"from {value_text(first)} to " if len(nonempty[0].points) > 1 else ""
        return f"{nonempty[0].name}: {start}{value_text(last)} at {x} {step:g}"
    steps = {tuple(step for step, _ in c.points) for c in nonempty}
    names = listed(c.name for c in nonempty)
    if len(steps) == 1 and len(nonempty) == len(drawn):
        gap = max(_gap(nonempty[0], c) for c in nonempty[1:])
        size = max(abs(value) for c in nonempty for _, value in c.points)
        if gap == 0:
            return f"{names}: exactly the same values"
        if gap <= 1e-3 * size:
            return f"{names}: one curve, the largest difference is {gap:.1g}"
    ends = {c.points[-1][0] for c in nonempty}
    where = f"At {_place(x, ends.pop())}" if len(ends) == 1 else "At the end"
    nonempty.sort(key=lambda c: c.points[-1][1])
    values = _distinct([c.points[-1][1] for c in nonempty])
    last = [f"{c.name} {value}" for c, value in zip(nonempty, values, strict=True)]
    return f"{where}: {'; '.join(last[:4])}{' ...' if len(last) > 4 else ''}"


def _place(x: str, step: float) -> str:
    """Return "step 39", or "64 micro-batches" if the axis counts something."""
    counts = x.endswith("s") and " " not in x
    return f"{step:g} {x}" if counts else f"{x} {step:g}"


def _distinct(values: list[float]) -> list[str]:
    """Format the values with as few digits as tell them apart, at least two and at most four."""
    for digits in (2, 3, 4):
        texts = [significant(value, digits) for value in values]
        if len(set(texts)) == len(set(values)):
            break
    return texts


def _gap(a: Curve, b: Curve) -> float:
    return max(abs(p[1] - q[1]) for p, q in zip(a.points, b.points, strict=True))


def _alt(title: str, drawn: list[Curve], floor: float | None, x: str, y: str) -> str:
    sentences = [f"Curves of {y} over {x}. {title}."]
    for c in drawn:
        if c.points:
            (first, start), (last, end) = c.points[0], c.points[-1]
            values = f"{value_text(start)} at {first:g}"
            values += f", {value_text(end)} at {last:g}" if last > first else ""
            sentences.append(f"{c.name}: {values}.")
        if c.broken is not None:
            sentences.append(f"{c.name} is not a number at {c.broken:g}.")
    if floor is not None:
        sentences.append(f"The floor is {value_text(floor)}.")
    return " ".join(sentences)
