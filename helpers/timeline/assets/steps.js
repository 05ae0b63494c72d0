import { button, element, keepKeys } from "./dom.js";

// Series of pictures: buttons choose the series and step through it, and so does a click on a part
// of the picture that is called like a series.

const PAUSE = 1200; // ms that a step is shown while all of them are played
const HINTS = {
  stepper: "Step with the buttons or the arrow keys ← and →; play shows all steps.",
  clickable: "Click a part of the picture, or a button; Esc leads back to the first.",
};

export default { render({ model, el }) {
  const series = model.get("pages"), names = Object.keys(series);
  const kind = names.some((each) => series[each].length > 1) ? "stepper" : "clickable";
  let name = names[0], at = 0, clock = null;
  const last = () => series[name].length - 1;
  const show = (to, of = name) => {
    name = of;
    at = Math.max(0, Math.min(last(), to));
    stage.innerHTML = series[name][at];
    for (const one of choices) one.setAttribute("aria-pressed", String(one.textContent === name));
    back.disabled = at === 0;
    on.disabled = at === last();
    play.textContent = clock ? "stop" : "play";
    said.textContent = `step ${at} of ${last()}`;
  };
  const go = (to, of) => {
    clearInterval(clock);
    clock = null;
    show(to, of);
  };
  const choices = names.map((each) =>
    element("button", { type: "button", onclick: () => go(0, each) }, each));
  const back = button("one step back", "←", () => go(at - 1), "◀");
  const on = button("one step on", "→", () => go(at + 1), "▶");
  const play = button("play all steps", "", () => {
    if (clock) return go(at);
    clock = setInterval(() => {
      show(at + 1);
      if (at === last() || !el.isConnected) go(at);
    }, PAUSE);
    show(at === last() ? 0 : at);
  });
  const said = element("span", { role: "status" });
  const stage = element("div", { onclick: ({ target }) => {
    const tip = target.querySelector?.("title")?.textContent;
    if (tip in series) go(0, tip);
  } });
  const bar = element("div", { role: "group" }, ...(names.length > 1 ? choices : []),
    ...(kind === "stepper" ? [back, on, play, said] : []));
  const box = element("div", {
    class: `lab-steps lab-${kind}`, "data-lm-suppress-shortcuts": "true",
    onkeydown: (event) => {
      const moves = { ArrowRight: [at + 1], ArrowLeft: [at - 1], Escape: [0, names[0]] };
      if (!moves[event.key]) return;
      event.preventDefault();
      go(...moves[event.key]);
    },
  }, bar, stage, element("p", { class: "lab-hint" }, HINTS[kind]));
  keepKeys(box);
  el.append(box);
  show(0);
  return () => clearInterval(clock);
} };
