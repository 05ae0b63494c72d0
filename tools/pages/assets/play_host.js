// On the site: the Python in the browser answers, and real ranks need a command.

const host = {
  ask: (question) => engine.ask({ page: "play", ...question }),
  runs: false,
  progress: kept.read("lab-play"),
  keep(level, best, helped) {
    this.progress[level] = { best, helped };
    kept.write("lab-play", this.progress);
  },
  hold: holdHere,
  link: (fragment) => `${location.href.split("#")[0]}#${fragment}`,
  command: (fragment) => `python -m helpers.play "#${fragment}"`,
};

const view = mountPlay(document.getElementById("play"), host, startHere());
addEventListener("hashchange", () => isLink(location.hash) && view.read(location.hash));
