// A page's side of the Python in the browser: ask, wait, and end what never answers.

const PATIENCE = 20000; // ms for one answer, once Python has started
const open = new Map(), wait = document.querySelector(".wait");
let worker, ready, number = 0;

function start() {
  worker = new Worker(new URL("./worker.js", import.meta.url), { type: "module" });
  ready = new Promise((done, fail) => {
    const broken = (why) => fail(new Error(`Python did not start: ${why}. Load this page again, please.`));
    worker.onmessage = ({ data }) => {
      if (data.ready) done();
      else if (data.broken) broken(data.broken);
      else heard(data);
    };
    worker.onerror = (event) => broken(event.message || "its files are missing");
  });
  ready.then(() => wait.remove(), ({ message }) => {
    wait.textContent = message;
    wait.className = "problem";
  });
}

function heard({ id, said, failed }) {
  const waiting = open.get(id);
  if (!waiting) return;
  open.delete(id);
  clearTimeout(waiting.alarm);
  if (failed) waiting.fail(new Error(failed));
  else waiting.done(said);
}

/** End a Python that doesn't answer; the next question starts another. */
function end() {
  worker.terminate();
  worker = null;
  const why = `No answer after ${PATIENCE / 1000} seconds, so it was stopped.`;
  for (const { fail } of open.values()) fail(new Error(why));
  open.clear();
}

/** The answer to a question; an Error says why there is none. */
export async function ask(question) {
  if (!worker) start();
  await ready;
  const id = ++number;
  return new Promise((done, fail) => {
    open.set(id, { done, fail, alarm: setTimeout(end, PATIENCE) });
    worker.postMessage({ id, question });
  });
}
