// The page of `python -m helpers.play`: the same machine answers, and runs plans on real ranks.

async function ask(question) {
  const sent = { method: "POST", body: JSON.stringify(question), headers: { "content-type": "application/json" } };
  const answer = await fetch("ask", sent).catch(() => {
    throw new Error("is `python -m helpers.play` still running?");
  });
  if (!answer.ok) throw new Error(`the lab said ${answer.status}: is it still running?`);
  return answer.json();
}

const host = {
  ask,
  runs: true,
  get progress() { return kept.read("lab-play"); },
  keep: (level, best, helped) => kept.put("lab-play", level, { best, helped }),
  hold: holdHere,
  left: leftHere,
  link: (fragment) => `python -m helpers.play "#${fragment}"`, // the address has a secret, and ends with its server
};

const view = mountPlay(document.getElementById("play"), host, startHere());
followAddress(view);
