import { drawMap } from "./furniture.js";
import { kept } from "./kept.js";
import { download } from "./save.js";

// A plan leaves the page and comes in: files, links, a page that is loaded again, and real ranks.

const HELD = "lab-play-now", LEFT = "lab-play-left";

/** The plan that was last in the lanes of a level, in whatever tab. */
export const leftHere = (level) => kept.read(LEFT)[level];

/** Keep what stands on the page; and what stood there before, for as long as its tab is open. */
export function holdHere(now) {
  const last = now.history[now.at];
  if (/\d/.test(last.plan)) kept.put(LEFT, last.level, last); // empty lanes are had without it
  try {
    sessionStorage.setItem(HELD, JSON.stringify({ ...now, hash: location.hash }));
  } catch { /* a private window keeps nothing */ }
}

/** Follow the address: to what stood on the page when it was left, or else to the plan of its link. */
export function followAddress(game) {
  addEventListener("storage", () => game.view && drawMap(game)); // won in another tab
  addEventListener("hashchange", () => {
    const left = game.history.findLast((one) => one.hash === location.hash);
    if (left) game.openAgain(left);
    else if (isLink(location.hash)) game.read(location.hash);
  });
}

/**
 * What this page begins with: what its tab held when the page was left, or else its link. Either
 * way what stood there before can be had back by undo.
 */
export function startHere() {
  const { hash } = location, again = performance.getEntriesByType("navigation")[0]?.type !== "navigate";
  let held = null;
  try {
    held = JSON.parse(sessionStorage.getItem(HELD));
  } catch { /* nothing is held */ }
  const past = held?.history?.length > held?.at ? { history: held.history, at: held.at } : {};
  if (past.history && (again ? held.hash === hash : !hash && !held.won)) return { ...past, held: true };
  return isLink(hash) ? { ...past, link: hash } : past;
}

/** Whether the end of an address is meant to be a plan, and not a place on the page. */
export function isLink(hash) {
  return hash.length > 1 && !document.getElementById(hash.slice(1));
}

export async function saveCsv(game) {
  const { level, costs, plan } = game.view;
  const answer = await game.host.ask({ do: "save", as: "csv", level: level.id, costs, plan });
  download("csv", new Blob([answer.text], { type: "text/plain" }), `plan_${level.id}`);
}

async function fragmentOf(game) {
  const { level, costs, plan } = game.view;
  return (await game.host.ask({ do: "save", as: "link", level: level.id, costs, plan })).text;
}

export async function shareLink(game) {
  const copied = await share(game, game.host.link(await fragmentOf(game)));
  game.say(copied ? "The link is copied:" : "Here is the link:");
}

/** Show a text to take along, and copy it where the browser lets us; returns whether it did. */
async function share(game, text) {
  game.shared.hidden = false;
  game.shared.textContent = text;
  return Boolean(await navigator.clipboard?.writeText(text).then(() => true, () => false));
}

export async function loadFile(game) {
  const [file] = game.file.files;
  game.file.value = "";
  if (!file) return;
  if (file.size > 200000) game.say(`${file.name} has ${file.size} bytes: no plan is so large.`, true);
  else await game.read(await file.text());
}

export async function runPlan(game) {
  const fragment = await fragmentOf(game);
  if (!game.host.runs) {
    const copied = await share(game, game.host.command(fragment)) ? " (it's copied)" : "";
    return game.say(`A page can't start processes. On a machine with the lab, this runs your plan on real ranks${copied}:`);
  }
  game.runButton.disabled = true;
  const now = { level: game.view.level.id, costs: game.view.costs, plan: game.view.plan };
  try {
    game.say(`${game.view.rows.length} processes run your plan, and sleep where a model would compute …`);
    const ran = await game.host.ask({ do: "run", ...now });
    if (ran.refused !== undefined) return game.say(ran.refused, true);
    if (game.view.plan === now.plan) game.measured = ran.measured;
    game.draw();
    game.say(`${ran.said} Now they train a LLaMA with it …`);
    const trained = await game.host.ask({ do: "train", ...now });
    game.say(`${ran.said} ${trained.refused ?? trained.said}`, trained.refused !== undefined || trained.right === false);
  } catch (error) {
    game.say(`It didn't run: ${error.message ?? error}`, true);
  } finally {
    game.runButton.disabled = false;
  }
  return undefined;
}
