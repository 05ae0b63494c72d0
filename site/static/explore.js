// Sliders for a schedule; the Python in the browser simulates it. The address has what they say.

import { ask } from "./engine.js";
import { mount } from "./timeline.js";

const answer = (question) => ask(question).catch((error) => ({ problem: error.message }));
let model, asking = false, later = null;

function show(said) {
  model.set("problem", said.problem);
  if (said.problem) return;
  model.set("data", said.data);
  history.replaceState(null, "", said.hash ? `#${said.hash}` : " ");
}

/** Ask for what the sliders say now; while one question is open, only the last one waits. */
async function moved({ settings }) {
  later = settings;
  if (asking) return;
  asking = true;
  while (later) {
    const now = later;
    later = null;
    show(await answer({ settings: now }));
  }
  asking = false;
}

// What everybody sees first was worked out when the site was made, so nobody waits for Python.
let first = await (await fetch(new URL("./first.json", import.meta.url))).json();
const asked = answer({ hash: location.hash }); // starts it
if (location.hash.includes("=")) first = { ...first, ...await asked };
model = mount(document.getElementById("view"), first, moved);
addEventListener("hashchange", () => location.reload());
