import { element } from "./dom.js";

// The sliders. Each movement asks Python once; while it computes, only the last movement is kept.

const GROUPS = { schedule: "Schedule", time: "Times of a micro-batch", network: "Network", memory: "Memory" };

/** Build the sliders in `holder`. ask: (settings) is called whenever they change. */
export function buildPanel(holder, controls, ask) {
  const settings = Object.fromEntries(controls.map(({ key, value }) => [key, value]));
  const problem = element("p", { class: "lab-problem", role: "alert", hidden: true });
  const rows = new Map();
  const changed = () => {
    for (const control of controls) {
      const unused = control.only.length > 0 && !control.only.includes(settings.schedule);
      const row = rows.get(control.key);
      row.input.disabled = unused;
      row.label.classList.toggle("lab-unused", unused);
    }
    ask({ ...settings });
  };
  for (const control of controls) {
    const choose = (value) => {
      settings[control.key] = value;
      changed();
    };
    rows.set(control.key, control.unit || typeof control.value === "number"
      ? slider(control, choose) : list(control, choose));
  }
  for (const control of controls) {
    const unused = control.only.length > 0 && !control.only.includes(settings.schedule);
    rows.get(control.key).input.disabled = unused;
    rows.get(control.key).label.classList.toggle("lab-unused", unused);
  }
  holder.replaceChildren(
    ...Object.entries(GROUPS).map(([group, words]) => element("fieldset", {},
      element("legend", {}, words),
      ...controls.filter((one) => one.group === group).map((one) => rows.get(one.key).label))),
    problem);
  return {
    /** Show why the settings cannot run; "" takes it away. */
    say(sentence) {
      problem.textContent = sentence;
      problem.hidden = !sentence;
    },
  };
}

function slider(control, choose) {
  const { values, value, label, unit, hint } = control;
  const shown = element("output", {});
  const words = (one) => (one === null ? "no limit" : `${one.toLocaleString("en-US")}${unit && ` ${unit}`}`);
  const input = element("input", {
    type: "range", min: 0, max: values.length - 1, step: 1, value: values.indexOf(value),
    "aria-label": label, "data-key": control.key,
    oninput: () => {
      const chosen = values[Number(input.value)];
      say(chosen);
      choose(chosen);
    },
  });
  const say = (one) => {
    shown.textContent = words(one);
    input.setAttribute("aria-valuetext", words(one));
  };
  say(value);
  return { input, label: element("label", { title: hint }, element("span", {}, label), input, shown) };
}

function list({ values, value, label, hint, key }, choose) {
  const input = element("select", {
    "aria-label": label, "data-key": key, onchange: () => choose(input.value),
  }, ...values.map((one) => element("option", { value: one, selected: one === value }, one)));
  return { input, label: element("label", { title: hint }, element("span", {}, label), input) };
}

/** One question at a time: the next goes when the answer is there, and only the latest. */
export function oneAtATime(send) {
  let number = 0, waiting = null, latest = null;
  const go = () => {
    waiting = { number: ++number, asked: latest.asked };
    send(number, latest.settings);
    latest = null;
  };
  return {
    ask(settings) {
      latest = { settings, asked: performance.now() };
      if (!waiting) go();
    },
    /** Call it with an answer's number; gives the time at which it was asked for, or null. */
    answered(id) {
      if (!waiting || waiting.number !== id) return null;
      const { asked } = waiting;
      waiting = null;
      if (latest) go();
      return asked;
    },
  };
}
