import { element, button } from "./dom.js";
import { grab, pressKey } from "./hand.js";
import { numberIn } from "./kept.js";
import { loadFile, runPlan, saveCsv, shareLink } from "./travel.js";

// All that stands around the lanes: what there is to press, and where words appear.

const HELPS = [["legal", "help: none"], ["ready", "help: what is ready"], ["coach", "help: a coach"]];
const PLAY_KEYS = [
  ["↑ ↓", "the rank above, below"], ["← →", "the action before, after"],
  ["F B I W", "place the next one there"],
  ["1 … 9", "place what is listed first, second, …"], ["Enter", "place the first that is ready"],
  [", .", "move the action earlier, later"], ["Delete", "take it back"],
  ["Shift+Delete", "take back what needs it, too"], ["Z Y", "undo, redo"], ["C", "ask the coach"],
  ["P", "play on"], ["?", "these keys"],
];

/** What the words of the score mean. */
export const SCORE = {
  step: "from the first action to the end of the last",
  span: "the longest that a rank takes from its first action to the end of its last",
  par: "the best time anybody knows",
  "your best": "helped: by the coach, by 'play on', by 'finish it', or by somebody else's plan",
  bubble: "the share of the time in which ranks wait",
  peak: "the most micro-batches that a rank keeps at once",
  messages: "between ranks",
  placed: "actions in the plan",
};

const SHAPE_WORDS = ["one a rank", "two a rank, in a loop", "two a rank, in a V"];
const SPLIT_WORDS = ["whole: B", "in halves: I and W"];

/** Make the elements of a game, as its fields; `game.root` holds them. */
export function furnish(game) {
  const hidden = (one) => Object.assign(one, { hidden: true });
  game.map = element("ol", { class: "play-map", "aria-label": "levels", onkeydown: (event) => alongMap(game, event) });
  game.title = element("h2", {});
  game.goal = element("p", { class: "play-goal" });
  game.hint = element("p", {});
  game.score = element("dl", { class: "play-score" });
  game.costs = element("form", { class: "play-own", onsubmit: (event) => event.preventDefault() });
  game.helpList = element("select", { "aria-label": "help", onchange: () => {
    game.help = game.helpList.value;
    game.draw();
    if (game.help === "coach") game.assist("coach");
  } }, ...HELPS.map(([value, words]) => element("option", { value, selected: value === "ready" }, words)));
  const onchange = () => loadFile(game);
  game.file = element("input", { type: "file", accept: ".csv,.txt", hidden: true, onchange });
  game.said = element("p", { class: "play-said", role: "status", "aria-live": "polite" });
  game.found = element("p", { class: "play-found" });
  game.heard = element("p", { class: "play-unseen", "aria-live": "polite" });
  game.back = hidden(button("go back to there", "", () => game.assist("back"), "↶ go back to there"));
  game.next = hidden(button("next level", "", () => game.openNext(), "next level ▶"));
  game.runButton = hidden(button("run it on real ranks", "", () => runPlan(game), "run it on real ranks"));
  game.rows = element("div", { class: "play-rows" });
  game.board = element("div", {
    class: "play-board", tabindex: "0", role: "application",
    "aria-label": "the plan: a lane for each rank; arrow keys move, letters place, question mark lists the keys",
  }, game.rows);
  game.board.addEventListener("pointerdown", (event) => grab(game, event));
  game.legend = element("p", { class: "play-legend" });
  game.keys = element("dl", { class: "play-keys", hidden: true }, ...PLAY_KEYS.map(([keys, what]) => element("div", {},
    element("dt", {}, keys), element("dd", {}, what))));
  game.shared = element("p", { class: "play-shared", hidden: true });
  game.more = menuOf(
    button("move earlier", ",", () => game.shift(-1), "◀ move earlier"),
    button("move later", ".", () => game.shift(1), "▶ move later"),
    button("empty lanes", "", () => game.open(game.view.level.id, game.view.costs), "empty lanes"), game.helpList,
    button("play on", "P", () => game.assist("on"), "play on"),
    button("finish it for me", "", () => game.assist("finish"), "finish it for me"),
    button("copy a link", "", () => shareLink(game), "copy a link"),
    button("save as torch's CSV", "", () => saveCsv(game), "save as torch's CSV"),
    button("load a plan", "", () => game.file.click(), "load a plan"), game.file,
    button("all keys", "?", () => game.turnKeys(), "all keys"));
  game.tools = element("div", { class: "play-tools" },
    button("undo", "Z", () => game.go(-1), "↶ undo"), button("redo", "Y", () => game.go(1), "↷"),
    button("take back", "Delete", () => game.remove(), "✕ take back"), element("span", { class: "play-gap" }),
    button("coach", "C", () => game.assist("coach"), "coach"), game.more);
  const about = { class: "play", "aria-label": "build a schedule", "data-lm-suppress-shortcuts": "true" };
  game.root = element("section", about, game.map,
    element("div", { class: "play-head" }, game.title, game.goal,
      element("details", {}, element("summary", {}, "a hint"), game.hint)),
    game.costs, game.score, element("div", { class: "play-word" }, game.said, game.shared, game.found, game.back, game.next, game.runButton),
    game.board, game.tools, game.legend, game.keys, game.heard);
  for (const part of game.root.children) part.inert = !part.contains(game.said); // until there is a plan
  game.root.addEventListener("keydown", (event) => pressKey(game, event));
  game.root.addEventListener("click", ({ target }) => { // chosen, or pressed elsewhere
    if (target.closest(".play-more button") || !game.more.contains(target)) game.more.open = false;
  });
}

/** What is seldom needed. */
function menuOf(...parts) {
  const menu = element("details", { class: "play-more", onkeydown: (event) => {
    if (event.key !== "Escape" || !menu.open) return;
    event.stopPropagation();
    menu.open = false;
    menu.firstChild.focus();
  } }, element("summary", {}, "more"), element("div", {}, ...parts));
  return menu;
}

/** The levels as places on a way: their numbers, what is won, and where the player is. */
export function drawMap(game) {
  const { progress } = game.host, now = game.view?.level.id, held = game.map.contains(document.activeElement);
  const inSight = now && game.map.dataset.now !== now;
  game.map.replaceChildren(...game.levels.map(({ id, title }, n) => {
    const done = progress[id], state = done ? (done.helped ? "won with help" : "won") : "not won yet";
    const place = element("button", {
      type: "button", "data-level": id, "data-done": done ? (done.helped ? "helped" : "won") : null,
      "aria-current": id === now ? "step" : null, tabindex: id === (now ?? game.levels[0].id) ? "0" : "-1",
      onclick: () => game.openLevel(id),
    }, element("b", {}, `${n + 1}`), element("span", {}, title), element("i", {}, `, ${state}`));
    return element("li", {}, place);
  }));
  const here = game.map.querySelector("[aria-current]");
  if (held) here?.focus({ preventScroll: true });
  if (inSight) game.map.scrollLeft = here.offsetLeft - game.map.clientWidth / 2 + here.clientWidth / 2;
  game.map.dataset.now = now ?? "";
}

function alongMap(game, event) {
  const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key], all = [...game.map.querySelectorAll("button")];
  event.stopPropagation();
  if (!by) return;
  event.preventDefault();
  all[all.indexOf(document.activeElement) + by]?.focus();
}

/** The costs of a level of one's own, to change. */
export function drawOwn(game) {
  game.costs.hidden = game.view.level.id !== "own";
  if (game.costs.hidden) return;
  const change = () => {
    const fields = [...game.costs.elements], costs = {};
    for (const one of fields) {
      try {
        costs[one.name] = numberIn(one.value);
      } catch (error) {
        return game.say(`${game.own[one.name].label}: ${error.message}`, true);
      }
    }
    return game.open("own", costs);
  };
  const focus = document.activeElement?.name;
  game.costs.replaceChildren(...Object.entries(game.own).map(([key, { start, label }]) => {
    const value = Number(game.view.costs[key] ?? start), words = { shape: SHAPE_WORDS, split: SPLIT_WORDS }[key];
    const choices = words?.map((text, n) => element("option", { value: n, selected: n === value }, text));
    // A field of type "number" drops a comma without a word, and makes 25 of 2,5.
    const input = choices
      ? element("select", { name: key, onchange: change }, ...choices)
      : element("input", { name: key, inputmode: "decimal", autocomplete: "off", value, onchange: change });
    return element("label", {}, label, input);
  }));
  if (focus) game.costs.elements[focus]?.focus();
}
