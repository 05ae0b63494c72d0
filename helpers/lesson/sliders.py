"""The widget that `vary` shows where a kernel runs."""

from collections.abc import Callable

import anywidget
import ipywidgets

from helpers.draw.themed import hint

MOVE = "Move a slider and let it go: what is shown follows."


class Keys(anywidget.AnyWidget):
    """Keeps keys that are pressed in a box of class "lab-keeps-keys" from the notebook around it.

    Otherwise an arrow in a list moves to the next cell, and the letter b inserts one. Keys with
    Ctrl or Cmd go to the page: they save the notebook.
    """

    _esm = """
    function listen(el) {
      const box = el.closest(".lab-keeps-keys");
      if (!box) return requestAnimationFrame(() => listen(el));  // not on the page yet
      box.dataset.lmSuppressShortcuts = "true";
      box.addEventListener("keydown", (event) => {
        event.stopPropagation();  // or the notebook takes the focus back to a cell
        if (!event.ctrlKey && !event.metaKey) return;
        const taken = !document.body.dispatchEvent(new KeyboardEvent("keydown", event));
        if (taken) event.preventDefault();
      });
    }
    export default { render: ({ el }) => { listen(el); } };
    """


class Sliders(ipywidgets.VBox):
    """Sliders over what a function returns; `controls` has them by name.

    The function is asked when a slider is let go, and only for values it hasn't seen; with
    `press`, each time the button that says so is pressed.
    """

    def __init__(
        self, draw: Callable[..., object], values: dict[str, list], start: object, press: str = ""
    ):
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
        self.page = ipywidgets.HTML(start._repr_html_())
        self.button = ipywidgets.Button(description=press)
        self.button.on_click(self._pressed)
        if not press:
            for control in self.controls.values():
                control.observe(self._moved, "value")
        buttons = [self.button] if press else []
        says = "Choose, then press the button." if press else MOVE
        super().__init__(
            [*self.controls.values(), *buttons, self.page, ipywidgets.HTML(hint(says)), Keys()]
        )
        self.add_class("lab-keeps-keys")

    def _chosen(self) -> dict:
        return {name: control.value for name, control in self.controls.items()}

    def _pressed(self, button: ipywidgets.Button) -> None:
        button.disabled = True  # until the answer is there
        try:
            self.page.value = self.draw(**self._chosen())._repr_html_()
        finally:
            button.disabled = False

    def _moved(self, change: dict) -> None:
        chosen = self._chosen()
        key = tuple(chosen.values())
        if key not in self.seen:
            self.seen[key] = self.draw(**chosen)
        self.page.value = self.seen[key]._repr_html_()
