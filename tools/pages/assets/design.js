// A model, a machine and a layout; the Python in the browser estimates memory and time.

import { engine, sorry } from "./engine.js";

const place = document.getElementById("view");
const dark = matchMedia("(prefers-color-scheme: dark)");
const words = (name) => name.replaceAll("_", " ");

function control(name, value, options) {
  const label = document.createElement("label");
  const text = document.createElement("span");
  text.textContent = words(name);
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

async function begin() {
  const first = await engine.ask({ page: "design", theme: dark.matches ? "dark" : "light" });
  const settings = { ...first.settings };
  const panel = document.createElement("div");
  panel.className = "panel";
  const problem = document.createElement("p");
  problem.className = "problem";
  problem.setAttribute("role", "alert");
  const verdict = document.createElement("p");
  verdict.className = "unseen"; // the picture says it, too
  verdict.setAttribute("role", "status");
  const picture = document.createElement("div");
  picture.className = "picture plain";
  const inputs = {};
  let { batch } = first;
  for (const name of [...Object.keys(first.lists), ...Object.keys(first.steps), ...first.checks]) {
    const made = control(name, settings[name], first.lists[name] ?? first.steps[name]);
    inputs[name] = made.input;
    made.input.addEventListener("change", () => {
      settings[name] = made.input.type === "checkbox" ? made.input.checked
        : first.steps[name] ? Number(made.input.value) : made.input.value;
      ask(name);
    });
    panel.append(made.label);
  }
  const show = (said) => {
    problem.textContent = said.problem;
    picture.classList.toggle("stale", Boolean(said.problem));
    if (said.svg) {
      picture.innerHTML = said.svg;
      picture.setAttribute("role", "img");
      picture.setAttribute("aria-label", said.alt);
      verdict.textContent = said.title;
    }
    batch = said.batch ?? batch;
    if (said.settings) {
      Object.assign(settings, said.settings);
      inputs.micro_batches.value = settings.micro_batches;
    }
  };
  const ask = (changed) => engine
    .ask(
      { page: "design", settings, changed, batch, theme: dark.matches ? "dark" : "light" },
      { tell: (words) => { problem.textContent = words; } },
    )
    .then(show, (error) => { problem.textContent = error.message; });
  dark.addEventListener("change", () => ask());
  place.replaceChildren(panel, problem, verdict, picture);
  show(first);
}

begin().catch(sorry);
