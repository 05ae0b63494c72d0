"""Pictures to step through with a button: what happens, one step after the other."""

from collections.abc import Callable, Mapping, Sequence

import anywidget
import traitlets

from helpers.draw import Picture
from helpers.draw.style import painted
from helpers.draw.themed import STEPS, framed, in_steps, themed_svg

Series = Mapping[str, Sequence[Picture]]


class Stepper(anywidget.AnyWidget):
    """Series of pictures, with buttons for the steps and a list to choose the series."""

    _esm = """
    export default { render({ model, el }) {
      const series = model.get("pages");
      const names = Object.keys(series);
      const box = document.createElement("div");
      box.className = "lab-stepper";
      box.dataset.lmSuppressShortcuts = "true";
      const bar = document.createElement("div");
      bar.setAttribute("role", "group");
      const stage = document.createElement("div");
      let name = names[0], at = 0, clock = null;
      const choice = document.createElement("select");
      choice.setAttribute("aria-label", "which series");
      for (const each of names) choice.add(new Option(each, each));
      if (names.length > 1) bar.append(choice);
      const button = (text, label, act) => {
        const made = document.createElement("button");
        made.type = "button";
        made.textContent = text;
        made.setAttribute("aria-label", label);
        made.addEventListener("click", act);
        bar.append(made);
        return made;
      };
      const halt = () => { clearInterval(clock); clock = null; show(); };
      const go = to => { at = Math.max(0, Math.min(series[name].length - 1, to)); show(); };
      const back = button("◀", "one step back", () => { halt(); go(at - 1); });
      const on = button("▶", "one step on", () => { halt(); go(at + 1); });
      const play = button("play", "play all steps", () => {
        if (clock) return halt();
        if (at === series[name].length - 1) at = 0;
        clock = setInterval(() => {
          go(at + 1);
          if (at === series[name].length - 1 || !el.isConnected) halt();
        }, 1200);
        show();
      });
      const said = document.createElement("span");
      said.setAttribute("role", "status");
      bar.append(said);
      const show = () => {
        stage.innerHTML = series[name][at];
        back.disabled = at === 0;
        on.disabled = at === series[name].length - 1;
        play.textContent = clock ? "stop" : "play";
        said.textContent = `step ${at} of ${series[name].length - 1}`;
      };
      choice.addEventListener("change", () => { name = choice.value; at = 0; halt(); });
      box.addEventListener("keydown", event => {
        event.stopPropagation();
        const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
        if (by && event.target !== choice) { event.preventDefault(); halt(); go(at + by); }
      });
      const hint = document.createElement("p");
      hint.className = "lab-hint";
      hint.textContent = "Step with the buttons or the arrow keys ← and →; play shows all steps.";
      box.append(bar, stage, hint);
      el.append(box);
      show();
      return () => clearInterval(clock);
    } };
    """
    _css = painted("""
    .lab-stepper [role="group"] { display: flex; gap: 8px; align-items: center; margin: 4px 0; }
    .lab-stepper button, .lab-stepper select { font: inherit; color: inherit; padding: 3px 12px;
      background: transparent; border: 1px solid rgba(128, 128, 128, 0.7); border-radius: 4px;
      cursor: pointer; }
    .lab-stepper button:disabled { opacity: 0.4; cursor: default; }
    .lab-stepper option { color: black; background: white; }
    .lab-stepper button:focus-visible, .lab-stepper select:focus-visible {
      outline: 3px solid var(--palette-orange); outline-offset: 1px; }
    .lab-hint { margin: 4px 0; opacity: 0.75; font-size: 0.9em; }
    """)
    pages = traitlets.Dict().tag(sync=True)

    kept_as = STEPS

    def __init__(self, draw: Callable[[str], Series]):
        self.series = draw("light")
        super().__init__(pages=_drawn(self.series))

    def recorded(self) -> dict:
        """Return the series as a built lesson keeps them."""
        return in_steps(self.series)


def stepper(draw: Callable[[str], Series]) -> Stepper:
    """Return a widget that steps through pictures, for ``show(picture, live=…)``.

    draw: takes the name of a theme, and returns the pictures by the name of their series:
        ``{"3 ranks": [first, second, …], "4 ranks": […]}``.

    Raises:
        ValueError: if there are no pictures.
    """
    return Stepper(draw)


def _drawn(series: Series) -> dict[str, list[str]]:
    if not series or not all(series.values()):
        raise ValueError("stepper() needs pictures: {'a name': [first, second, …]}")
    return {
        name: [framed(themed_svg(picture)) for picture in pictures]
        for name, pictures in series.items()
    }
