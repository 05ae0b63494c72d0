import { readModel } from "./model.js";
import { TimelineView } from "./view.js";
import { buildPanel, oneAtATime } from "./explore.js";
import { download } from "./save.js";

// What a notebook calls: the traits of the Python widget on one side, the view on the other.

const PATIENCE = 5000; // ms
const SILENCE = "Python has not answered for 5 seconds: another cell may be running, or the kernel "
  + "has stopped. Run the cell again.";

function render({ model, el }) {
  const modelNow = () => {
    const { head, body } = model.get("data");
    return readModel(head, body);
  };
  const view = new TimelineView(el, model.get("look"), modelNow(), (kind) => model.send({ save: kind }));
  const controls = model.get("controls") ?? [];
  let alarm = 0;
  const questions = oneAtATime((id, settings) => {
    model.send({ ask: { id, settings } }); // a trait would come back as an echo, and cost as much again
    clearTimeout(alarm);
    alarm = setTimeout(() => panel.say(SILENCE), PATIENCE);
  });
  const panel = controls.length ? buildPanel(view.panel, controls, questions.ask) : null;
  let packed = model.get("data").body;
  const changed = () => {
    const { body, id, problem } = model.get("data");
    clearTimeout(alarm);
    panel?.say(problem ?? "");
    view.root.classList.toggle("lab-stale", Boolean(problem));
    if (body !== packed && !problem) {
      packed = body;
      view.setModel(modelNow());
    }
    const asked = questions.answered(id);
    if (asked !== null) view.drawn.answer = performance.now() - asked;
  };
  const message = (content, buffers) => {
    if (content.saved) download(content.saved, buffers[0]);
    // All views of the widget hear it: the first of them passes it on to all.
    if (content.answer && model.get("data").answer !== content.answer) {
      const body = buffers[0] ?? model.get("data").body;
      model.set("data", { ...model.get("data"), ...content.answer, body, answer: content.answer });
    }
    if (content.failed) view.status.textContent = `Not saved as ${content.failed}: ${content.why}`;
  };
  model.on("change:data", changed);
  model.on("msg:custom", message);
  return () => {
    clearTimeout(alarm);
    model.off("change:data", changed);
    model.off("msg:custom", message);
    view.destroy();
  };
}

export default { render };
