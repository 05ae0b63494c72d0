import { element, button } from "./dom.js";
import { grab, pressKey } from "./hand.js";

// All that stands around the lanes: what there is to press, and where words appear.

const HELPS = [["legal", "help: none"], ["ready", "help: what is ready"], ["coach", "help: a coach"]];
const PLAY_KEYS = [
  ["↑ ↓", "the rank above, below"], ["← →", "the action before, after"], ["F B I W", "place the next one there"],
  ["1 … 9", "place what is listed first, second, …"], ["Enter", "place the first that is ready"],
  [", .", "move the action earlier, later"], ["Delete", "take it back"],
  ["Shift+Delete", "take back what needs it, too"], ["Z Y", "undo, redo"], ["C", "ask the coach"],
  ["P", "play on"], ["?", "these keys"],
];

/** Make the elements of a game, as its fields; `game.root` holds them. */
export function furnish(game) {
  const tool = (label, key, act, words) => button(label, key, act, words);
  game.levelList = element("select", { "aria-label": "level", onchange: () => game.open(game.levelList.value) });
  game.goal = element("p", { class: "play-goal" });
  game.hint = element("p", {});
  game.score = element("dl", { class: "play-score" });
  game.costs = element("form", { class: "play-own", onsubmit: (event) => event.preventDefault() });
  game.helpList = element("select", { "aria-label": "help", onchange: () => {
    game.help = game.helpList.value;
    game.draw();
    if (game.help === "coach") game.change({ do: "coach" });
  } }, ...HELPS.map(([value, words]) => element("option", { value, selected: value === "ready" }, words)));
  game.file = element("input", { type: "file", accept: ".json,.csv,.txt", hidden: true, onchange: () => game.load() });
  game.said = element("p", { class: "play-said", role: "status", "aria-live": "polite" });
  game.heard = element("p", { class: "play-unseen", "aria-live": "polite" });
  game.rows = element("div", { class: "play-rows" });
  game.board = element("div", {
    class: "play-board", tabindex: "0", role: "application",
    "aria-label": "the plan: a lane for each rank; arrow keys move, letters place, question mark lists the keys",
  }, game.rows);
  game.board.addEventListener("pointerdown", (event) => grab(game, event));
  game.legend = element("p", { class: "play-legend" });
  game.keys = element("dl", { class: "play-keys", hidden: true }, ...PLAY_KEYS.map(([keys, what]) => element("div", {},
    element("dt", {}, keys), element("dd", {}, what))));
  game.runButton = tool("run it on real ranks", "", () => game.run(), "▶ run it on real ranks");
  game.shared = element("p", { class: "play-shared", hidden: true });
  game.tools = element("div", { class: "play-tools", role: "toolbar", "aria-label": "moves and help" },
    tool("undo", "Z", () => game.go(-1), "↶ undo"), tool("redo", "Y", () => game.go(1), "↷"),
    tool("move earlier", ",", () => game.shift(-1), "◀"), tool("move later", ".", () => game.shift(1), "▶"),
    tool("take back", "Delete", () => game.remove(), "✕ take back"),
    tool("empty lanes", "", () => game.open(game.view.level.id, game.view.costs), "empty"),
    element("span", { class: "play-gap" }), game.helpList,
    tool("coach", "C", () => game.assist("coach"), "coach"), tool("play on", "P", () => game.assist("on"), "play on"),
    tool("finish it for me", "", () => game.assist("finish"), "finish it"),
    tool("all keys", "?", () => game.turnKeys(), "?"));
  game.files = element("div", { class: "play-tools", role: "toolbar", "aria-label": "run, save and share" },
    game.runButton, element("span", { class: "play-gap" }),
    tool("share by a link", "", () => game.share(), "link"), tool("save as JSON", "", () => game.save("json"), "JSON"),
    tool("save as torch's CSV", "", () => game.save("csv"), "torch CSV"),
    tool("load a plan", "", () => game.file.click(), "load"), game.file);
  game.root = element("section", { class: "play", "aria-label": "build a schedule", "data-lm-suppress-shortcuts": "true" },
    element("div", { class: "play-head" }, game.levelList, game.goal,
      element("details", {}, element("summary", {}, "a hint"), game.hint)),
    game.costs, game.score, game.tools, game.said, game.board, game.legend, game.keys, game.files, game.shared, game.heard);
  game.root.addEventListener("keydown", (event) => pressKey(game, event));
}
