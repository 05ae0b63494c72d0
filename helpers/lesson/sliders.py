"""The widget that `vary` shows where a kernel runs."""

from collections.abc import Callable

import ipywidgets

from helpers.cluster.sliders import Keys
from helpers.lesson.shown import Shown


class Sliders(ipywidgets.VBox):
    """Sliders over what a function returns; `controls` has them by name.

    The function is asked when a slider is let go, and only for values it hasn't seen.
    """

    def __init__(self, draw: Callable[..., Shown], values: dict[str, list], start: Shown):
        self.draw = draw
        self.controls = {
            name: ipywidgets.SelectionSlider(
                options=each if isinstance(each[0], str) else sorted(each),
                value=each[0],
                description=name.replace("_", " "),
                continuous_update=False,
                layout={"width": "420px"},
                style={"description_width": "120px"},
            )
            for name, each in values.items()
        }
        self.seen = {tuple(each[0] for each in values.values()): start}
        self.page = ipywidgets.HTML(start.html)
        for control in self.controls.values():
            control.observe(self._moved, "value")
        super().__init__([*self.controls.values(), self.page, Keys()])
        self.add_class("lab-keeps-keys")

    def _moved(self, change: dict) -> None:
        chosen = {name: control.value for name, control in self.controls.items()}
        key = tuple(chosen.values())
        if key not in self.seen:
            self.seen[key] = self.draw(**chosen)
        self.page.value = self.seen[key].html
