// On the site: the Python in the browser answers, and real ranks need a command.

const place = document.getElementById("play");
const host = {
  async ask(question) {
    return engine.ask({ page: "play", ...question });
  },
  runs: false,
  progress: (() => {
    try {
      return JSON.parse(localStorage.getItem("lab-play")) ?? {};
    } catch {
      return {};
    }
  })(),
  keep(level, best, helped) {
    this.progress[level] = { best, helped };
    try {
      localStorage.setItem("lab-play", JSON.stringify(this.progress));
    } catch { /* a private window keeps nothing */ }
  },
  link: (fragment) => `${location.href.split("#")[0]}#${fragment}`,
  command: (fragment) => `python -m helpers.play "#${fragment}"`,
};

engine.start().then(() => {
  place.replaceChildren();
  const view = mountPlay(place, host, location.hash.length > 1 ? { link: location.hash } : {});
  addEventListener("hashchange", () => location.hash.length > 1 && view.read(location.hash));
}, (error) => {
  const words = document.createElement("p");
  words.className = "problem";
  words.textContent = error.message;
  place.replaceChildren(words);
});
