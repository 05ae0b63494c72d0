// The game on the site: the level that the address names, and what this browser has won.

const PLAYED = "lab-play";
const asked = new URLSearchParams(location.hash.slice(1)).get("level");
const won = Object.entries(kept.read(PLAYED)).filter(([, { helped }]) => !helped);
const best = Object.fromEntries(won.map(([id, facts]) => [id, facts.best]));
const open = STATE.levels.find(({ id }) => id === asked) ?? STATE.levels.find(({ id }) => !(id in best));
const level = (open ?? STATE.levels[0]).id;

mount(document.getElementById("play"), { ...STATE, level, best }, (state) => {
  for (const [id, seconds] of Object.entries(state.best)) {
    if (best[id] !== seconds) kept.put(PLAYED, id, { best: best[id] = seconds, helped: false });
  }
});
