// A page's side of the Python in the browser: ask, wait, and end what never answers.

const PATIENCE = 20000; // ms for one answer, once Python has started
// What every visitor asks first: its answers were worked out when the site was made.
const first = new Map(JSON.parse(document.getElementById("first")?.textContent ?? "[]"));

class Engine {
  constructor() {
    this.open = new Map();
    this.number = 0;
    this.alive = false;
    this.loaded = 0;
    this.tell = new Set(); // who waits for Python's start
  }

  /** Say how far Python is, on the page and to all who wait for it. */
  progress(loaded) {
    this.loaded = loaded;
    const percent = `${Math.floor(100 * loaded)} %`, here = loaded >= 1, wait = document.querySelector(".wait");
    wait?.setAttribute("data-loaded", here ? "" : percent);
    if (here && wait) wait.textContent = "Python is downloaded and starts up…";
    const words = here ? "Python is downloaded and starts up: a few seconds more." : `Python is loading, ${percent} of it is here.`;
    for (const tell of this.tell) tell(words);
  }

  start() {
    if (this.ready) return this.ready;
    if (typeof WebAssembly !== "object") {
      const error = new Error("This browser has no WebAssembly, so Python can't run here. "
        + "The lessons can be read, and the lab runs on your own machine.");
      sorry(error);
      return this.ready = Promise.reject(error);
    }
    this.worker = new Worker(new URL("./worker.js", import.meta.url), { type: "module" });
    this.ready = new Promise((done, fail) => {
      this.worker.onmessage = ({ data }) => {
        if (data.ready) {
          this.alive = true;
          done();
        } else if (data.loaded) this.progress(data.loaded);
        else if (data.broken) fail(notStarted(data.broken));
        else this.heard(data);
      };
      this.worker.onerror = (event) => fail(notStarted(event.message || "its files are missing"));
    });
    this.ready.catch(sorry);
    return this.ready;
  }

  /**
   * The answer to a question; an Error says why there is none.
   * tell(words): hears that Python is still loading, and how far it is.
   */
  async ask(question, { patience = PATIENCE, tell = null } = {}) {
    const answer = this.answered(question, patience), known = first.get(JSON.stringify(question));
    if (!known && tell && !this.alive) {
      this.tell.add(tell);
      this.progress(this.loaded);
      this.ready.then(() => this.tell.delete(tell), () => this.tell.delete(tell));
    }
    if (!known) return answer;
    answer.catch(() => {}); // Python is asked all the same, so that it has loaded what the page needs
    return known;
  }

  async answered(question, patience) {
    await this.start();
    const id = ++this.number;
    return new Promise((done, fail) => {
      const silent = `No answer after ${patience / 1000} seconds, so it was stopped: is there a loop that never ends?`;
      const alarm = setTimeout(() => this.end(silent), patience);
      this.open.set(id, { done, fail, alarm });
      this.worker.postMessage({ id, question });
    });
  }

  heard({ id, said, failed, over }) {
    const waiting = this.open.get(id);
    if (!waiting) return;
    this.open.delete(id);
    clearTimeout(waiting.alarm);
    document.querySelector(".wait")?.classList.add("over");
    if (failed) waiting.fail(new Error(failed));
    else waiting.done(said);
    if (over) this.end(failed);
  }

  /** End a Python that doesn't answer, and say why; the next question starts another. */
  end(why) {
    this.worker.terminate();
    this.ready = null;
    this.alive = false;
    const open = [...this.open.values()];
    this.open.clear();
    for (const { fail, alarm } of open) {
      clearTimeout(alarm);
      fail(new Error(why));
    }
  }
}

function notStarted(why) {
  return new Error(`Python did not start: ${why}. Load this page again, please.`);
}

export const engine = new Engine();

/** Say why a page has no Python, where it says that Python is starting. */
export function sorry(error) {
  const words = document.querySelector(".wait") ?? document.querySelector("main .problem");
  words.textContent = error.message;
  words.className = "problem";
  words.setAttribute("role", "alert");
}
