"""A layout under sliders: memory by component and time by cause, as they follow."""

import base64
from html import escape

import anywidget
import ipywidgets

from helpers.cluster.bars import bars, memory_group, time_group
from helpers.cluster.estimate import Estimate, estimate
from helpers.cluster.layout import Layout
from helpers.cluster.presets import PRESETS, preset
from helpers.cost import ModelConfig, gpt
from helpers.draw import Picture
from helpers.draw.text import bytes_text, percent, time_text

MODELS = {
    "GPT-2 XL, 1.6B": gpt(1600, 48, 25, 1024, 50304),
    "LLaMA-7B": ModelConfig("llama", 4096, 32, 32, 32, 128, 11008, 32000, 2048),
    "Llama 3 8B": ModelConfig("llama", 4096, 32, 32, 8, 128, 14336, 128256, 8192),
    "Llama 3 70B": ModelConfig("llama", 8192, 80, 64, 8, 128, 28672, 128256, 8192),
    "GPT-3, 175B": gpt(12288, 96, 96),
    "a GPT of 1T": gpt(25600, 128, 160),
}
POWERS = tuple(2**k for k in range(11))
LISTS = {
    "model": tuple(MODELS),
    "machine": tuple(PRESETS),
    "recompute": ("none", "selective", "full"),
}
STEPS = {
    "dp": POWERS,
    "pp": (1, 2, 4, 8, 16, 32, 64),
    "tp": (1, 2, 4, 8),
    "chunks": (1, 2, 3, 4),
    "micro_batch": (1, 2, 4, 8, 16),
    "micro_batches": POWERS,
    "zero": (0, 1, 2, 3),
}
CHECKS = ("sequence_parallel", "flash")
START = dict.fromkeys(STEPS, 1) | {"micro_batches": 8, "zero": 0}
START |= {"model": "LLaMA-7B", "machine": "A100", "recompute": "none"} | dict.fromkeys(
    CHECKS, False
)


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
    _css = """
    body:not([data-jp-theme-light="false"]) .lab-dark { display: none; }
    body[data-jp-theme-light="false"] .lab-light { display: none; }
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
        super().__init__([sides, self.page, Keys()])
        self.add_class("lab-keeps-keys")
        self._show()

    @property
    def settings(self) -> dict:
        """What the controls say now."""
        return {name: control.value for name, control in self.controls.items()}

    def picture(self, theme: str = "light") -> Picture:
        """The last layout that could be made, as a picture."""
        return picture_of(self.estimate, theme)

    def _moved(self, change: dict) -> None:
        """Follow a slider. What cannot be is answered with its sentence; the picture stays.

        Where replicas or the size of micro-batches change, there are more or fewer of them, so
        that the batch stays, if it can be divided so.
        """
        if change["owner"] in (self.controls["dp"], self.controls["micro_batch"]):
            wanted = self.batch / (self.controls["dp"].value * self.controls["micro_batch"].value)
            pieces = self.controls["micro_batches"]
            if wanted in pieces.options and wanted != pieces.value:
                pieces.value = int(wanted)  # which leads here again
                return
        try:
            self.estimate, self.problem = made(self.settings), ""
        except ValueError as error:
            self.problem = str(error)
        else:
            self.batch = self.estimate.layout.batch
        self._show()

    def _show(self) -> None:
        image = "".join(_image(self.picture(theme), theme) for theme in ("light", "dark"))
        faded = ' style="opacity: 0.35"' if self.problem else ""
        self.page.value = f"<p><b>{escape(self.problem)}</b></p><div{faded}>{image}</div>"


def _image(picture: Picture, theme: str) -> str:
    data = base64.b64encode(picture.svg().encode()).decode()
    source = f"data:image/svg+xml;base64,{data}"
    return f'<img class="lab-{theme}" alt="{escape(picture.alt)}" src="{source}">'


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


def made(settings: dict) -> Estimate:
    """The estimate of these settings. ValueError, one sentence, where there is none."""
    rest = dict(settings)
    name, machine = rest.pop("model"), preset(rest.pop("machine"))
    if name not in MODELS:
        raise ValueError(f"there is no model {name!r}: choose one of {', '.join(MODELS)}")
    model = MODELS[name]
    batch = rest["dp"] * rest["micro_batch"] * rest.pop("micro_batches")
    return estimate(model, Layout(batch, model.positions, **rest), machine)


def picture_of(done: Estimate, theme: str = "light") -> Picture:
    """Memory and time of one estimate."""
    layout, memory = done.layout, bytes_text(done.memory.total)
    verdict = "it fits" if done.fits else "it does not fit"
    title = (
        f"{layout.gpus} x {done.machine.name}, batch {layout.batch}: {memory} a device, {verdict}; "
        f"a step takes {time_text(done.seconds)}, MFU {percent(done.utilisation.mfu)}"
    )
    groups = [memory_group({"memory": done}), time_group({"time": done})]
    return bars(groups, title, theme=theme)


def _control(name: str, value: object) -> ipywidgets.Widget:
    look = {"description": name.replace("_", " "), "value": value}
    wide = {"layout": {"width": "420px"}, "style": {"description_width": "120px"}}
    if name in CHECKS:
        return ipywidgets.Checkbox(**look, **wide)
    if name in LISTS:
        return ipywidgets.Dropdown(options=LISTS[name], **look, **wide)
    options = STEPS[name] if value in STEPS[name] else sorted((*STEPS[name], value))
    return ipywidgets.SelectionSlider(options=options, **look, **wide)
