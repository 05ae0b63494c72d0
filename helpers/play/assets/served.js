// The page of `python -m helpers.play`: the same machine answers, and runs plans on real ranks.

const kept = "lab-play";

async function ask(question) {
  const sent = { method: "POST", body: JSON.stringify(question), headers: { "content-type": "application/json" } };
  const answer = await fetch("ask", sent).catch(() => {
    throw new Error("is `python -m helpers.play` still running?");
  });
  if (!answer.ok) throw new Error(`the lab said ${answer.status}: is it still running?`);
  return answer.json();
}

function progressNow() {
  try {
    return { ...JSON.parse(localStorage.getItem(kept)) };
  } catch {
    return {};
  }
}

const host = {
  ask,
  runs: true,
  progress: progressNow(),
  keep(level, best, helped) {
    this.progress[level] = { best, helped };
    try {
      localStorage.setItem(kept, JSON.stringify(this.progress));
    } catch { /* a private window keeps nothing */ }
  },
  hold: holdHere,
  link: (fragment) => `${location.href.split("#")[0]}#${fragment}`,
  command: (fragment) => `python -m helpers.play "#${fragment}"`,
};

const view = mountPlay(document.getElementById("play"), host, startHere());
addEventListener("hashchange", () => isLink(location.hash) && view.read(location.hash));
