"""A picture that answers a click: each part of it leads to another picture."""

from collections.abc import Mapping

import anywidget
import traitlets

from helpers.draw import Picture
from helpers.draw.style import painted
from helpers.draw.themed import STEPS, framed, in_steps, themed_svg


class Clickable(anywidget.AnyWidget):
    """Shows one of several pictures. A click on a shape whose tip is a name shows that one.

    pictures: {name: picture}; the first is shown at the beginning, and again after Escape. The
    names are buttons too, for the keyboard.
    """

    _esm = """
    export default { render({ model, el }) {
      const picture = document.createElement("div");
      const row = document.createElement("div");
      row.dataset.lmSuppressShortcuts = "true";
      const buttons = Object.keys(model.get("pictures")).map(name => {
        const button = document.createElement("button");
        button.type = "button";
        button.textContent = name;
        button.addEventListener("click", () => show(name));
        row.append(button);
        return button;
      });
      const show = name => {
        picture.innerHTML = model.get("pictures")[name];
        for (const button of buttons)
          button.setAttribute("aria-pressed", String(button.textContent === name));
      };
      picture.addEventListener("click", event => {
        const tip = event.target.querySelector?.("title")?.textContent;
        if (tip in model.get("pictures")) show(tip);
      });
      el.addEventListener("keydown", event => {
        if (event.key === "Escape") show(buttons[0].textContent);
      });
      el.className = "lab-clickable";
      const hint = document.createElement("p");
      hint.className = "lab-hint";
      hint.textContent = "Click a part of the picture, or a button; Esc leads back to the first.";
      el.append(picture, row, hint);
      show(buttons[0].textContent);
    } };
    """
    _css = painted("""
    .lab-hint { margin: 4px 0; opacity: 0.75; font-size: 0.9em; }
    .lab-clickable svg text { pointer-events: none; }
    .lab-clickable svg rect:has(title) { cursor: pointer; }
    .lab-clickable button { font: inherit; color: inherit; margin: 2px 6px 2px 0; cursor: pointer;
      padding: 3px 9px; border-radius: 4px; background: transparent;
      border: 1px solid rgba(128, 128, 128, 0.6); }
    .lab-clickable button[aria-pressed="true"] { background: var(--palette-blue); color: white; }
    """)
    pictures = traitlets.Dict().tag(sync=True)

    kept_as = STEPS

    def __init__(self, pictures: Mapping[str, Picture]):
        if not pictures:
            raise ValueError("Clickable() needs at least one picture: {'name': picture}")
        self.drawn = pictures
        super().__init__(pictures={name: framed(themed_svg(p)) for name, p in pictures.items()})
        self.alt = next(iter(pictures.values())).alt

    def recorded(self) -> dict:
        """Return the pictures as a built lesson keeps them: by name, a series of one."""
        return in_steps({name: [picture] for name, picture in self.drawn.items()})

    def __repr__(self) -> str:
        return f"<Clickable: {self.alt}>"
