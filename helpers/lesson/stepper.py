"""Pictures to step through with a button: what happens, one step after the other."""

from collections.abc import Callable, Mapping, Sequence

from helpers.draw import Picture
from helpers.timeline.clicks import Steps


def stepper(draw: Callable[[str], Mapping[str, Sequence[Picture]]]) -> Steps:
    """Return a widget that steps through pictures, for ``show(picture, live=…)``.

    draw: takes the name of a theme, and returns the pictures by the name of their series:
        ``{"3 ranks": [first, second, …], "4 ranks": […]}``.

    Raises:
        ValueError: if there are no pictures.
    """
    series = draw("light")
    if not series or not all(series.values()):
        raise ValueError("stepper() needs pictures: {'a name': [first, second, …]}")
    return Steps(series)
