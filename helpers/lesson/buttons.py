"""Predictions in a notebook, by mouse, touch or keyboard: buttons, or a field for a number."""

from collections.abc import Sequence
from string import ascii_uppercase

import anywidget
import traitlets

from helpers.draw.style import painted
from helpers.grade.record import note_estimate, note_prediction
from helpers.record import noted


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

    def __init__(self, question_id: str, question: str, choices: Sequence[str], keys: str):
        """keys: of the choices, in the order in which they are shown: "CAB"."""
        self._id, self._keys = question_id, keys
        texts = [choices[ascii_uppercase.index(key)] for key in keys]
        lettered = [list(pair) for pair in zip(ascii_uppercase, texts, strict=False)]
        before = noted("predictions").get(question_id, {}).get("chosen") or ""
        chosen = ascii_uppercase[keys.index(before)] if before and before in keys else ""
        super().__init__(question=question, choices=lettered, chosen=chosen)

    @traitlets.observe("chosen")
    def _remember(self, change: dict) -> None:
        letters = ascii_uppercase[: len(self._keys)]
        if change["new"] and change["new"] in letters:
            note_prediction(self._id, self._keys[letters.index(change["new"])])

    def __repr__(self) -> str:
        rows = [f"  {letter}) {text}" for letter, text in self.choices]
        return "\n".join([f"Predict: {self.question}", *rows])


class Guess(anywidget.AnyWidget):
    """A question for a number and a range; both are remembered once the number can be read."""

    _esm = """
    export default { render({ model, el }) {
      const box = document.createElement("fieldset");
      box.className = "lab-choices";
      box.dataset.lmSuppressShortcuts = "true";
      box.innerHTML = `<legend>Estimate</legend><div></div><label><input inputmode="decimal"
        autocomplete="off"> <span></span></label> <label>sure within <select></select></label>
        <div role="status"></div>`;
      box.children[1].textContent = model.get("question");
      box.querySelector("span").textContent = model.get("unit");
      const field = box.querySelector("input"), range = box.querySelector("select");
      for (const name of model.get("ranges")) range.add(new Option(name, name));
      const show = () => {
        field.value = model.get("typed"); range.value = model.get("range");
        box.querySelector("[role=status]").textContent = model.get("said");
      };
      const tell = () => {
        model.set({ typed: field.value, range: range.value });
        model.save_changes();
      };
      for (const one of [field, range]) {
        one.addEventListener("keydown", event => event.stopPropagation());
        one.addEventListener("change", tell);
      }
      model.on("change:said", show);
      show();
      el.append(box);
    } };
    """
    _css = Choices._css
    question = traitlets.Unicode().tag(sync=True)
    unit = traitlets.Unicode().tag(sync=True)
    ranges = traitlets.List().tag(sync=True)
    typed = traitlets.Unicode("").tag(sync=True)
    range = traitlets.Unicode("").tag(sync=True)
    said = traitlets.Unicode("").tag(sync=True)

    def __init__(self, question_id: str, question: str, unit: str, within: dict[str, float]):
        """within: what each range is called, and its factor."""
        self._id, self._within = question_id, within
        before = noted("estimates").get(question_id, {})
        names = {factor: name for name, factor in within.items()}
        super().__init__(
            question=question,
            unit=unit,
            ranges=[*within],
            typed=f"{before['guess']:g}" if before.get("guess") else "",
            range=names.get(before.get("within"), [*within][2]),
            said="Choose a number and a range before you run the next cell.",
        )

    @traitlets.observe("typed", "range")
    def _remember(self, _: dict) -> None:
        from helpers.lesson.estimates import number

        if not self.typed.strip() or self.range not in self._within:
            return
        if guess := number(self.typed):
            note_estimate(self._id, guess, self._within[self.range])
            self.said = f"You say {self.typed} {self.unit}, within {self.range}. Now run on."
        else:
            self.said = f"{self.typed!r} is not a number above 0: write one such as 0.25 or 1,200."

    def __repr__(self) -> str:
        return f"Estimate: {self.question} (a number of {self.unit})"
