"""`cuts`: drag the cuts of a pipeline, and see what each rank computes and keeps."""

import base64
from html import escape

import ipywidgets

from helpers.cluster.sliders import Keys
from helpers.draw import Picture
from helpers.draw.stages import Piece, cut
from helpers.draw.themed import STEPS, in_steps
from helpers.words import many


class Cuts(ipywidgets.VBox):
    """What `cuts` makes: one slider with two handles, and the picture of the cut below it."""

    kept_as = STEPS

    def __init__(self, layers: int, pieces: tuple[Piece, Piece, Piece], counts: tuple[int, ...]):
        self.pieces, self.layers = pieces, layers
        self.slider = ipywidgets.IntRangeSlider(
            value=(counts[0], counts[0] + counts[1]),
            min=0,
            max=layers,
            description="cut before layer",
            style={"description_width": "110px"},
            layout={"width": "560px"},
        )
        self.page = ipywidgets.HTML()
        self.slider.observe(self._moved, "value")
        super().__init__([self.slider, self.page, Keys()])
        self.add_class("lab-keeps-keys")
        self._moved()

    @property
    def counts(self) -> tuple[int, int, int]:
        """The layers of each stage, as the handles stand now."""
        first, second = self.slider.value
        return first, second - first, self.layers - second

    def picture(self) -> Picture:
        return cut(self.counts, *self.pieces)

    def recorded(self) -> dict:
        """Return every cut: a series for each length of the first stage."""
        series = {}
        for first in range(self.layers + 1):
            left = self.layers - first
            series[f"{many(first, 'layer')} in the first stage"] = [
                cut((first, second, left - second), *self.pieces) for second in range(left + 1)
            ]
        return in_steps(series, "layers in the second stage")

    def _moved(self, change: dict | None = None) -> None:
        picture = self.picture()
        data = base64.b64encode(picture.svg().encode()).decode()
        source = f"data:image/svg+xml;base64,{data}"
        self.page.value = f'<img alt="{escape(picture.alt)}" src="{source}">'


def cuts(layers: int, embedding: Piece, layer: Piece, head: Piece, counts: tuple[int, ...]) -> Cuts:
    """Return a slider with two handles that cuts a model into three stages.

    counts: the layers of each stage to begin with.
    """
    return Cuts(layers, (embedding, layer, head), counts)
