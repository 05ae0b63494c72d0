// Settings and a picture that follows them: a cluster's memory and time, or what failures cost.

import { engine, sorry } from "./engine.js";

const place = document.getElementById("view");
const { page } = place.dataset;
const dark = matchMedia("(prefers-color-scheme: dark)");
const make = (tag, className = "") => Object.assign(document.createElement(tag), { className });

function control(name, value, options) {
  const label = document.createElement("label");
  const text = document.createElement("span");
  const [words, help] = [WORDS[name] ?? name.replaceAll("_", " ")].flat();
  text.append(words);
  if (help) text.append(Object.assign(make("small"), { textContent: help }));
  const input = document.createElement(options ? "select" : "input");
  if (options) {
    for (const one of options) {
      const option = document.createElement("option");
      option.value = option.textContent = one;
      input.append(option);
    }
    input.value = value;
  } else {
    input.type = "checkbox";
    input.checked = value;
  }
  input.dataset.key = name;
  label.append(text, input);
  return { label, input };
}

const GROUPS = page === "failures" ? { "Devices": ["years"], "Restarting": ["save", "restart"], "Elastic replicas": ["replica", "stall"],
  "Learners": ["learners", "lost"], "Replicas and learners": ["back"] } : { "What": ["model", "machine"], "Devices": ["dp", "pp", "tp", "chunks"],
  "Batch": ["micro_batch", "micro_batches"], "Memory": ["zero", "recompute", "sequence_parallel", "flash"] };
const WORDS = { dp: "replicas (dp)", pp: "stages (pp)", tp: "shares of a layer (tp)", chunks: "chunks of a device",
  micro_batch: "sequences of one", micro_batches: "micro-batches", zero: "ZeRO stage", flash: "flash attention",
  years: ["MTBF (years)", "mean time between failures of one device"], save: ["checkpoint (s)", "training pauses while it saves"],
  restart: ["restart (s)", "from a failure until the job trains again"], replica: ["size of a replica (devices)", "one failure takes out all of them"],
  stall: ["stall (s)", "all replicas wait at each failure"], learners: ["learners (number)", "groups that share all devices"],
  lost: ["lost work (s)", "at most, of the learner that failed"], back: ["recovery (s)", "until the one that failed trains again"] };

async function begin() {
  const look = () => ({
    page, theme: dark.matches ? "dark" : "light",
    ...(page === "design" ? { width: innerWidth > 760 ? 760 : 360 } : {}),
  });
  const first = await engine.ask(look());
  const settings = {}, inputs = {};
  let { batch } = first;
  const panel = make("div", "panel"), problem = make("p", "problem"), verdict = make("p", "verdict");
  const picture = make("div", "picture plain");
  picture.tabIndex = 0; // a wide one scrolls
  problem.setAttribute("role", "alert");
  verdict.setAttribute("role", "status");
  const names = [...Object.keys(first.lists), ...Object.keys(first.steps), ...first.checks];
  for (const name of names) {
    const made = control(name, first.settings[name], first.lists[name] ?? first.steps[name]);
    inputs[name] = made.input;
    made.input.addEventListener("change", () => {
      settings[name] = made.input.type === "checkbox" ? made.input.checked
        : first.steps[name] ? Number(made.input.value) : made.input.value;
      ask({ settings, changed: name, batch });
    });
  }
  const rest = new Set(names);
  for (const [legend, some] of Object.entries(GROUPS)) {
    const group = make("fieldset");
    group.append(Object.assign(make("legend"), { textContent: legend }));
    for (const name of some) if (rest.delete(name)) group.append(inputs[name].parentElement);
    panel.append(group);
  }
  const show = (said) => {
    problem.textContent = said.problem && said.problem[0].toUpperCase() + said.problem.slice(1);
    picture.classList.toggle("stale", Boolean(said.problem));
    verdict.classList.toggle("stale", Boolean(said.problem));
    if (said.svg) {
      picture.innerHTML = said.svg;
      picture.setAttribute("role", "img");
      picture.setAttribute("aria-label", said.alt);
      verdict.textContent = said.title;
    }
    batch = said.batch ?? batch;
    Object.assign(settings, said.settings);
    for (const [name, input] of Object.entries(inputs)) {
      if (input.type === "checkbox") input.checked = settings[name];
      else input.value = settings[name];
    }
    if (said.hash !== undefined) history.replaceState(null, "", said.hash ? `#${said.hash}` : " ");
  };
  const ask = (question) => engine
    .ask({ ...look(), ...question }, { tell: (words) => { problem.textContent = words; } })
    .then(show, (error) => { problem.textContent = error.message; });
  const follow = () => ask({ hash: location.hash });
  dark.addEventListener("change", () => ask({ settings }));
  addEventListener("hashchange", follow);
  const shown = make("div", "answer");
  shown.append(verdict, problem, picture);
  place.replaceChildren(shown, panel);
  const hash = page === "design" && location.hash.includes("=");
  show(hash ? { ...first, hash: undefined } : first);
  if (hash) await follow();
}

begin().catch(sorry);
