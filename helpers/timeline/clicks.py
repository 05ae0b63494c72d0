"""Pictures that lead to each other: step by step, or by a click on a part of one."""

from collections.abc import Mapping, Sequence

import anywidget
import traitlets

from helpers.draw import Picture
from helpers.draw.themed import STEPS, framed, in_steps, themed_svg
from helpers.timeline.page import asset, joinable


class Steps(anywidget.AnyWidget):
    """Shows one of several series of pictures: {name: [picture, …]}.

    Buttons choose the series, and step through one of several pictures. A click on a shape whose
    tip is the name of a series shows that one, and Escape the first.
    """

    _esm = joinable(asset("dom.js")) + joinable(asset("steps.js"))
    _css = asset("steps.css")
    pages = traitlets.Dict().tag(sync=True)

    kept_as = STEPS

    def __init__(self, series: Mapping[str, Sequence[Picture]]):
        self.series = series
        super().__init__(
            pages={name: [framed(themed_svg(p)) for p in each] for name, each in series.items()}
        )
        self.alt = next(iter(series.values()))[0].alt

    def recorded(self) -> dict:
        """Return the series as a built lesson keeps them."""
        return in_steps(self.series)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.alt}>"


class Clickable(Steps):
    """Shows one of several pictures: {name: picture}; the first is shown at the beginning."""

    def __init__(self, pictures: Mapping[str, Picture]):
        if not pictures:
            raise ValueError("Clickable() needs at least one picture: {'name': picture}")
        super().__init__({name: [picture] for name, picture in pictures.items()})
