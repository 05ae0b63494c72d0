// On the site: the Python in the browser answers, and real ranks need a command.

const host = {
  ask: (question, tell) => engine.ask({ page: "play", ...question }, { tell }),
  runs: false,
  get progress() { return kept.read("lab-play"); },
  keep: (level, best, helped) => kept.put("lab-play", level, { best, helped }),
  hold: holdHere,
  left: leftHere,
  lesson: (stem) => `lessons/${stem}.html`,
  link: (fragment) => `${location.href.split("#")[0]}#${fragment}`,
  command: (fragment) => `python -m helpers.play "#${fragment}"`,
};

const view = mountPlay(document.getElementById("play"), host, startHere());
followAddress(view);
