import { element } from "./dom.js";

// The lanes of the game: what is placed, what is ready, who waits, what is kept.

export const short = (seconds) => `${Number(seconds.toFixed(3))}`;

/** Words for a player: with one stage a rank, "1B0 of rank 1" is the B0 of rank 1. */
export function readable(level, words) {
  if (level.chunks > 1) return words;
  return words.replace(/\b(\d+)([FBIW]\d+′*)(?: of rank \d+)?/g, "$2 of rank $1");
}

export function laneRow(game, row, rank) {
  const { level } = game.view, goal = goalOf(level), lane = element("div", { class: "play-lane", "data-rank": rank });
  lane.style.width = `${game.width}px`;
  if (goal !== null) lane.append(placed(game, element("i", { class: "play-goal-line" }), { start: goal, end: goal }));
  for (const wait of row.waits) {
    const why = readable(level, wait.why), idle = element("button", {
      type: "button", tabindex: "-1", class: "play-wait", title: why, "aria-label": `waits: ${why}`,
      onclick: () => game.say(`Rank ${rank} waits from ${short(wait.start)} s to ${short(wait.end)} s: ${why}.`),
    });
    placed(game, idle, wait);
    lane.append(idle);
  }
  for (const one of row.actions) lane.append(placed(game, actionBox(game, one, "play-box"), one));
  const ghosts = game.help === "legal" ? [] : row.next.filter((one) => one.start !== null);
  ghosts.forEach((one, n) => {
    const ghost = placed(game, actionBox(game, one, "play-ghost"), one);
    ghost.style.top = `${4 + (n * 40) / ghosts.length}px`;
    ghost.style.height = `${40 / ghosts.length - 1}px`;
    ghost.style.fontSize = `${Math.min(12, 40 / ghosts.length - 5)}px`; // inside of two borders
    lane.append(ghost);
  });
  for (const one of game.measured?.[rank] ?? []) {
    const about = { class: "play-measured", title: one.name, "data-kind": one.name.replace(/\d/g, "") };
    lane.append(placed(game, element("i", about), one));
  }
  const strip = memoryStrip(game, row, level);
  const chips = row.next.map((one) => {
    const chip = actionBox(game, one, "play-chip");
    chip.classList.toggle("play-not-ready", game.help !== "legal" && one.start === null);
    return chip;
  });
  const head = element("div", { class: "play-rank" },
    element("b", {}, `rank ${rank}`),
    element("span", { class: "play-room", title: "micro-batches kept now, and the room for them" },
      ...roomOf(game, row, level)),
    element("span", { class: "play-chips" }, ...chips));
  const track = element("div", { class: "play-track" }, lane, strip);
  return element("div", { class: "play-row", "data-rank": rank }, head, track);
}

/** Slots for what a rank keeps; a number where room has no limit. */
export function roomOf(game, row, level) {
  if (level.cap === null || level.cap > 8) return [`keeps ${row.kept}${level.cap === null ? "" : ` of ${level.cap}`}`];
  const slot = (_, n) => element("i", { class: n < row.kept ? "play-slot play-taken" : "play-slot" });
  return Array.from({ length: level.cap }, slot)
    .concat(element("span", { class: "play-unseen" }, `keeps ${row.kept} of ${level.cap}`));
}

export function memoryStrip(game, row, level) {
  const most = Math.max(level.cap ?? 0, ...game.view.rows.map((one) => one.peak), 1);
  const strip = element("div", { class: "play-memory", title: "micro-batches kept, over time" });
  const end = row.actions.length ? row.actions[row.actions.length - 1].end : 0;
  row.memory.forEach(([time, held], n) => {
    const bar = placed(game, element("i", {}), { start: time, end: row.memory[n + 1]?.[0] ?? end }, 0);
    bar.style.height = `${(100 * held) / most}%`;
    strip.append(bar);
  });
  strip.style.width = `${game.width}px`;
  return strip;
}

export function timeAxis(game, horizon) {
  const axis = element("div", { class: "play-axis", "aria-hidden": "true" });
  const step = [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 500].find((one) => one * game.scale >= 44) ?? 1000;
  for (let n = 0; n * step <= horizon + 1e-9; n += 1) {
    const tick = element("span", {}, `${Number((n * step).toFixed(3))}${n ? "" : " s"}`);
    tick.style.left = `${n * step * game.scale}px`;
    axis.append(tick);
  }
  const goal = goalOf(game.view.level);
  if (goal !== null) {
    const mark = element("i", { class: "play-target" }, `goal: ${short(goal)} s`);
    mark.style.left = `${goal * game.scale}px`;
    axis.append(mark);
  }
  axis.style.width = `${game.width}px`;
  return element("div", { class: "play-row play-foot" }, element("div", { class: "play-rank" }), axis);
}

const goalOf = (level) => (level.aim === "step" ? level.target : null);

export function placed(game, one, { start, end }, gap = 1) {
  one.style.left = `${start * game.scale}px`;
  one.style.width = `${Math.max(1, (end - start) * game.scale - gap)}px`;
  return one;
}

/** A button of an action: its kind by color and letter, its micro-batch by number and stripe. */
export function actionBox(game, action, look) {
  const { level } = game.view, implied = level.chunks === 1 || look === "play-box";
  const words = implied ? `${action.kind}${action.micro}${"′".repeat(action.step)}` : action.name;
  const when = action.start === null ? "not ready" : `${short(action.start)} s to ${short(action.end)} s`;
  const made = element("button", {
    type: "button", tabindex: "-1", class: look,
    "data-name": action.name, "data-kind": action.kind, "data-chunk": action.chunk % 2,
    title: `${readable(level, action.name)}, ${when}`, "aria-label": `${words} of stage ${action.stage}, ${when}`,
  }, words);
  made.style.setProperty("--hue", `${(action.micro * 137.5) % 360}`);
  if (look !== "play-box") made.addEventListener("click", () => game.place(action.name));
  made.addEventListener("pointerenter", () => game.follow(action.micro));
  made.addEventListener("pointerleave", () => game.follow(null));
  return made;
}

const WORDS = { F: "forward", B: "backward", I: "gradient of the input", W: "gradient of the weights" };

/** What letters, numbers and the hatching mean, for the kinds of a level. */
export function legendOfPlay(level) {
  const kinds = [...level.kinds].map((kind) => element("span", {},
    element("i", { class: "play-swatch", "data-kind": kind }, kind), WORDS[kind]));
  return [...kinds,
    element("span", {}, element("i", { class: "play-swatch play-hatched" }), "waits: press to see for what"),
    element("span", {}, "F2: forward of micro-batch 2, whose boxes all have its stripe"
      + (level.chunks > 1 ? ". 1F2: the one of stage 1" : "") + (level.steps > 1 ? ". F3′: of the second step" : ""))];
}
