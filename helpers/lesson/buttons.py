"""Predictions in a notebook: buttons, for mouse, touch or keyboard."""

from collections.abc import Sequence
from string import ascii_uppercase

import anywidget
import traitlets

from helpers.draw.style import painted
from helpers.record import note, noted


class Choices(anywidget.AnyWidget):
    """A question and its choices; a click is remembered, and may be changed until the reveal."""

    _esm = """
    export default { render({ model, el }) {
      const box = document.createElement("fieldset");
      box.className = "lab-choices";
      box.dataset.lmSuppressShortcuts = "true";
      const legend = document.createElement("legend");
      legend.textContent = "Predict";
      const question = document.createElement("div");
      question.textContent = model.get("question");
      box.append(legend, question);
      const said = document.createElement("div");
      said.setAttribute("role", "status");
      const buttons = model.get("choices").map(([letter, text]) => {
        const button = document.createElement("button");
        button.type = "button";
        button.innerHTML = "<b></b><span></span>";
        button.firstChild.textContent = letter;
        button.lastChild.textContent = text;
        button.addEventListener("keydown", event => event.stopPropagation());
        button.addEventListener("click", () => {
          model.set("chosen", letter);
          model.save_changes();
        });
        box.append(button);
        return [letter, button];
      });
      box.append(said);
      const show = () => {
        const chosen = model.get("chosen");
        for (const [letter, button] of buttons)
          button.setAttribute("aria-pressed", String(letter === chosen));
        said.textContent = chosen
          ? `You say ${chosen}. Now run the next cells.`
          : "Choose before you run the next cell.";
      };
      model.on("change:chosen", show);
      show();
      el.append(box);
    } };
    """
    _css = painted("""
    .lab-choices { border: 1px solid var(--palette-blue); border-left-width: 6px;
      padding: 8px 14px; margin: 4px 0; font: inherit; color: inherit; min-width: 0; }
    .lab-choices legend { font-weight: bold; padding: 0 6px; }
    .lab-choices button { display: flex; gap: 10px; width: 100%; text-align: left; margin: 6px 0;
      padding: 6px 10px; font: inherit; color: inherit; cursor: pointer; border-radius: 4px;
      background: transparent; border: 1px solid rgba(128, 128, 128, 0.6); }
    .lab-choices button:hover {
      background: color-mix(in srgb, var(--palette-blue) 12%, transparent); }
    .lab-choices button:focus-visible {
      outline: 3px solid var(--palette-orange); outline-offset: 1px; }
    .lab-choices button[aria-pressed="true"] {
      background: var(--palette-blue); border-color: var(--palette-blue); color: white; }
    .lab-choices [role="status"] { font-style: italic; opacity: 0.8; }
    """)
    question = traitlets.Unicode().tag(sync=True)
    choices = traitlets.List().tag(sync=True)
    chosen = traitlets.Unicode("").tag(sync=True)

    def __init__(self, question_id: str, question: str, choices: Sequence[str]):
        self._id = question_id
        lettered = [list(pair) for pair in zip(ascii_uppercase, choices, strict=False)]
        before = noted("predictions").get(question_id, {}).get("chosen") or ""
        super().__init__(question=question, choices=lettered, chosen=before)

    @traitlets.observe("chosen")
    def _remember(self, change: dict) -> None:
        if change["new"] in [letter for letter, _ in self.choices]:
            note("predictions", self._id, {"chosen": change["new"], "right": None})

    def __repr__(self) -> str:
        rows = [f"  {letter}) {text}" for letter, text in self.choices]
        return "\n".join([f"Predict: {self.question}", *rows])
