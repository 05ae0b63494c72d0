// Sliders for a schedule; the Python in the browser simulates it.

import { engine, sorry } from "./engine.js";
import { LOOK, TimelineView, buildPanel, oneAtATime, readModel } from "./timeline.js";

const place = document.getElementById("view");

async function begin() {
  const first = await engine.ask({ page: "explore", first: true });
  const view = new TimelineView(place, LOOK, readModel(first.head, first.body));
  const questions = oneAtATime(async (id, settings) => {
    let said;
    try {
      said = await engine.ask({ page: "explore", settings }, { tell: panel.say });
    } catch (error) {
      said = { problem: error.message };
    }
    const asked = questions.answered(id);
    panel.say(said.problem);
    view.root.classList.toggle("lab-stale", Boolean(said.problem));
    if (!said.problem) view.setModel(readModel(said.head, said.body));
    if (asked !== null) place.dataset.answered = Math.round(performance.now() - asked);
  });
  const panel = buildPanel(view.panel, first.controls, questions.ask);
}

begin().catch(sorry);
