"""A layout under sliders: memory by component and time by cause, as they follow."""

from html import escape

import anywidget
import ipywidgets

from helpers.cluster.settings import CHECKS, LISTS, START, STEPS, made, pictures_of, with_batch
from helpers.draw import Picture
from helpers.draw.themed import hint


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
    """What `design` makes. estimate: the last layout that could be made; problem: why the present
    one cannot, or ""."""

    def __init__(self, settings: dict):
        self.estimate, self.problem = made(settings), ""  # first: it knows what cannot be
        self.batch = self.estimate.layout.batch
        self.controls = {name: _control(name, value) for name, value in settings.items()}
        self.page = ipywidgets.HTML()
        for control in self.controls.values():
            control.observe(self._moved, "value")
        lists = [self.controls[name] for name in (*LISTS, *CHECKS)]
        steps = [self.controls[name] for name in STEPS]
        sides = ipywidgets.HBox([ipywidgets.VBox(steps), ipywidgets.VBox(lists)])
        says = ipywidgets.HTML(hint("Each control changes the bars."))
        super().__init__([sides, self.page, says, Keys()])
        self.add_class("lab-keeps-keys")
        self._show()

    @property
    def settings(self) -> dict:
        """What the controls say now."""
        return {name: control.value for name, control in self.controls.items()}

    def picture(self) -> Picture:
        """The memory of the last layout that could be made."""
        return pictures_of(self.estimate)[0]

    def _moved(self, change: dict) -> None:
        """Follow a slider. What cannot be is answered with its sentence; the picture stays.

        Where replicas or the size of micro-batches change, there are more or fewer of them, so
        that the batch stays, if it can be divided so.
        """
        if change["owner"] in (self.controls["dp"], self.controls["micro_batch"]):
            wanted = with_batch(self.settings, self.batch)["micro_batches"]
            if wanted != self.controls["micro_batches"].value:
                self.controls["micro_batches"].value = wanted  # which leads here again
                return
        try:
            self.estimate, self.problem = made(self.settings), ""
        except ValueError as error:
            self.problem = str(error)
        else:
            self.batch = self.estimate.layout.batch
        self._show()

    def _show(self) -> None:
        pictures = (each._repr_html_() for each in pictures_of(self.estimate))
        faded = ' style="opacity: 0.35"' if self.problem else ""
        said = f"<p><b>{escape(self.problem)}</b></p>"
        self.page.value = f"{said}<div{faded}>{''.join(pictures)}</div>"


def design(**settings) -> Sliders:
    """Sliders for a model, a machine and a layout, over bars of memory and time.

    settings: where to start: model (a name of `MODELS`), machine, dp, pp, tp, chunks, micro_batch,
    micro_batches (of each replica), recompute, zero, sequence_parallel, flash.
    Raises TypeError for a setting that there is not, ValueError for a layout that cannot be.
    """
    for name in settings:
        if name not in START:
            raise TypeError(f"design() has no setting {name!r}: choose from {', '.join(START)}")
    return Sliders(START | settings)


def _control(name: str, value: object) -> ipywidgets.Widget:
    look = {"description": name.replace("_", " "), "value": value}
    wide = {"layout": {"width": "420px"}, "style": {"description_width": "120px"}}
    if name in CHECKS:
        return ipywidgets.Checkbox(**look, **wide)
    if name in LISTS:
        return ipywidgets.Dropdown(options=LISTS[name], **look, **wide)
    options = STEPS[name] if value in STEPS[name] else sorted((*STEPS[name], value))
    return ipywidgets.SelectionSlider(options=options, **look, **wide)
