import { element, button } from "./dom.js";
import { download } from "./save.js";

// The game's page. It knows no rule: it asks `host.ask(question)` and draws the answer.
//
// host.ask(question)   a promise of the answer of helpers.play.answers
// host.progress        {level: {best, helped}}, and host.keep(level, best, helped) adds to it
// host.link(fragment)  the text that shares a plan
// host.runs            whether "run" and "train" may be asked; else host.command(fragment) is shown

const MIN_BOX = 34; // px of the shortest action: a finger hits it
const HELPS = [["legal", "help: none"], ["ready", "help: what is ready"], ["coach", "help: a coach"]];
const OWN_LABELS = {
  ranks: "ranks", micro_batches: "micro-batches", shape: "stages", split: "backward", forward: "F (s)",
  input_grad: "I (s)", weight_grad: "W (s)", latency: "message (s)", cap: "room (0: no limit)",
};
const SHAPE_WORDS = ["one a rank", "two a rank, in a loop", "two a rank, in a V"];
const SPLIT_WORDS = ["whole: B", "in halves: I and W"];
const PLAY_KEYS = [
  ["↑ ↓", "the rank above, below"], ["← →", "the action before, after"], ["F B I W", "place the next one there"],
  ["1 … 9", "place what is listed first, second, …"], ["Enter", "place the first that is ready"],
  [", .", "move the action earlier, later"], ["Delete", "take it back"],
  ["Shift+Delete", "take back what needs it, too"], ["Z Y", "undo, redo"], ["C", "ask the coach"],
  ["P", "play on"], ["?", "these keys"],
];

export function mountPlay(el, host, start = {}) {
  return new PlayView(el, host, start);
}

class PlayView {
  constructor(el, host, start) {
    Object.assign(this, { host, view: null, history: [], at: -1, helped: false, measured: null, cursor: { rank: 0, at: 0 } });
    this.help = "ready";
    this.scale = 40;
    this.busy = Promise.resolve();
    this.build();
    el.append(this.root);
    this.setTheme();
    this.dark = matchMedia("(prefers-color-scheme: dark)");
    this.onTheme = () => this.setTheme();
    this.dark.addEventListener("change", this.onTheme);
    this.watch = new MutationObserver(this.onTheme);
    this.watch.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-light"] });
    this.sizes = new ResizeObserver(() => this.view && this.draw());
    this.sizes.observe(this.board);
    this.begin(start);
  }

  destroy() {
    this.sizes.disconnect();
    this.watch.disconnect();
    this.dark.removeEventListener("change", this.onTheme);
    this.root.remove();
  }

  setTheme() {
    const said = document.body.dataset.jpThemeLight;
    const dark = said === undefined ? matchMedia("(prefers-color-scheme: dark)").matches : said === "false";
    this.root.dataset.theme = dark ? "dark" : "light";
  }

  async begin({ level, costs, link }) {
    const { levels, own } = await this.host.ask({ do: "levels" });
    this.levels = levels;
    this.own = own;
    const first = levels.find((one) => !this.host.progress[one.id]) ?? levels[0];
    if (link) {
      if (await this.read(link)) return;
      const reason = this.said.textContent;
      await this.open(first.id);
      this.say(reason, true);
    } else await this.open(level || first.id, costs);
  }

  // --- questions ----------------------------------------------------------------------------------

  /** Ask, one question after the other; an answer with a plan is drawn, a refusal is said. */
  change(question, fresh = false) {
    this.busy = this.busy.then(() => this.asked(question, fresh)).catch((error) => {
      this.say(`No answer: ${error.message ?? error}`, true);
      return false;
    });
    return this.busy;
  }

  async asked(question, fresh) {
    const now = this.view && { level: this.view.level.id, costs: this.view.costs, plan: this.view.plan };
    const answer = await this.host.ask({ ...now, ...question });
    if (answer.refused !== undefined) {
      this.say(answer.refused, true);
      this.point(answer.needs, "play-needed");
      return false;
    }
    if (fresh || answer.plan !== now.plan) {
      this.history.length = fresh ? 0 : this.at + 1;
      this.at = this.history.push({ plan: answer.plan, costs: answer.costs, level: answer.level.id, helped: this.helped }) - 1;
    }
    this.show(answer, fresh);
    return true;
  }

  show(answer, fresh = false) {
    const before = this.view?.plan;
    this.view = answer;
    if (fresh) this.cursor = { rank: 0, at: answer.rows[0].actions.length };
    if (before !== answer.plan) this.measured = null;
    this.draw();
    this.say(answer.said);
    this.point(answer.about, "play-about");
    if (answer.won) this.won();
    this.showPar();
  }

  async won() {
    const { id } = this.view.level, known = this.host.progress[id];
    if (id === "own") return; // other costs, another game
    const better = !known || (known.helped && !this.helped) || (known.helped === this.helped && this.view.worth < known.best);
    if (better) this.host.keep(id, this.view.worth, this.helped);
    this.drawLevels();
    this.drawScore();
  }

  async showPar() {
    const { level, costs } = this.view, key = JSON.stringify([level.id, costs]);
    if (level.par === null && this.parKey !== key) {
      this.parKey = key;
      this.par = null;
      const { par } = await this.host.ask({ do: "par", level: level.id, costs });
      if (this.parKey === key) this.par = par;
    } else if (level.par !== null) this.par = level.par;
    this.drawScore();
  }

  open(level, costs = {}) {
    this.helped = false;
    return this.change({ do: "open", level, costs, plan: "" }, true);
  }

  /** Open a plan of somebody else's: a link or a file. */
  async read(text) {
    const before = this.helped;
    this.helped = true;
    const done = await this.change({ do: "read", text }, true);
    if (!done) this.helped = before;
    return done;
  }

  place(name, position) {
    return this.change({ do: "place", action: name, position }).then((done) => {
      const box = done && this.boxOf(name);
      if (box) this.cursor = { rank: box.rank, at: box.at + 1 };
      if (done) this.drawCursor();
      if (done && this.help === "coach" && !this.view.complete) this.change({ do: "coach" });
      return done;
    });
  }

  /** Undo or redo: the plans that were there before are legal, so they are opened again. */
  async go(by) {
    const to = this.history[this.at + by];
    if (!to) return;
    this.at += by;
    this.helped = to.helped;
    this.show(await this.host.ask({ do: "open", ...to }));
  }

  assist(what) {
    this.helped = this.helped || what !== "coach";
    return this.change({ do: what });
  }

  /** Where an action stands: its rank and position. */
  boxOf(name) {
    for (const [rank, row] of this.view.rows.entries()) {
      const at = row.actions.findIndex((one) => one.name === name);
      if (at >= 0) return { rank, at, ...row.actions[at] };
    }
    return null;
  }

  selected() {
    return this.view?.rows[this.cursor.rank]?.actions[this.cursor.at] ?? null;
  }

  remove(users = false) {
    const row = this.view.rows[this.cursor.rank].actions;
    const one = this.selected() ?? row[row.length - 1];
    if (!one) return this.say(`Rank ${this.cursor.rank} has nothing to take back.`, true);
    return this.change({ do: "remove", action: one.name, users }).then((done) => {
      const left = this.view.rows[this.cursor.rank].actions.length;
      if (done) this.cursor.at = Math.min(this.cursor.at, left);
      this.drawCursor();
    });
  }

  shift(by) {
    const one = this.selected();
    if (!one) return undefined;
    return this.moveTo(one.name, this.cursor.at + by);
  }

  moveTo(name, position) {
    return this.change({ do: "move", action: name, position: Math.max(0, position) }).then((done) => {
      const box = this.boxOf(name);
      if (done && box) this.cursor = { rank: box.rank, at: box.at };
      this.drawCursor();
    });
  }

  // --- words --------------------------------------------------------------------------------------

  say(words, refused = false) {
    this.said.textContent = words ? words[0].toUpperCase() + words.slice(1) : "";
    this.said.classList.toggle("play-refused", Boolean(words) && refused);
  }

  /** Mark boxes and chips of some actions for a while. */
  point(names, mark) {
    for (const one of this.root.querySelectorAll(".play-needed, .play-about")) one.classList.remove("play-needed", "play-about");
    for (const name of names ?? []) {
      for (const one of this.root.querySelectorAll(`[data-name="${name}"]`)) one.classList.add(mark);
    }
  }

  // --- the page -----------------------------------------------------------------------------------

  build() {
    const tool = (label, key, act, words) => button(label, key, act, words);
    this.levelList = element("select", { "aria-label": "level", onchange: () => this.open(this.levelList.value) });
    this.goal = element("p", { class: "play-goal" });
    this.hint = element("p", {});
    this.score = element("dl", { class: "play-score" });
    this.costs = element("form", { class: "play-own", onsubmit: (event) => event.preventDefault() });
    this.helpList = element("select", { "aria-label": "help", onchange: () => {
      this.help = this.helpList.value;
      this.draw();
      if (this.help === "coach") this.change({ do: "coach" });
    } }, ...HELPS.map(([value, words]) => element("option", { value, selected: value === "ready" }, words)));
    this.file = element("input", { type: "file", accept: ".json,.csv,.txt", hidden: true, onchange: () => this.load() });
    this.said = element("p", { class: "play-said", role: "status", "aria-live": "polite" });
    this.heard = element("p", { class: "play-unseen", "aria-live": "polite" });
    this.rows = element("div", { class: "play-rows" });
    this.board = element("div", {
      class: "play-board", tabindex: "0", role: "application",
      "aria-label": "the plan: a lane for each rank; arrow keys move, letters place, question mark lists the keys",
    }, this.rows);
    this.board.addEventListener("pointerdown", (event) => this.grab(event));
    this.keys = element("dl", { class: "play-keys", hidden: true }, ...PLAY_KEYS.map(([keys, what]) => element("div", {},
      element("dt", {}, keys), element("dd", {}, what))));
    this.runButton = tool("run it on real ranks", "", () => this.run(), "▶ run it on real ranks");
    this.shared = element("p", { class: "play-shared", hidden: true });
    this.tools = element("div", { class: "play-tools", role: "toolbar", "aria-label": "moves and help" },
      tool("undo", "Z", () => this.go(-1), "↶ undo"), tool("redo", "Y", () => this.go(1), "↷"),
      tool("move earlier", ",", () => this.shift(-1), "◀"), tool("move later", ".", () => this.shift(1), "▶"),
      tool("take back", "Delete", () => this.remove(), "✕ take back"),
      tool("empty lanes", "", () => this.open(this.view.level.id, this.view.costs), "empty"),
      element("span", { class: "play-gap" }), this.helpList,
      tool("coach", "C", () => this.assist("coach"), "coach"), tool("play on", "P", () => this.assist("on"), "play on"),
      tool("finish it for me", "", () => this.assist("finish"), "finish it"),
      tool("all keys", "?", () => this.turnKeys(), "?"));
    this.files = element("div", { class: "play-tools", role: "toolbar", "aria-label": "run, save and share" },
      this.runButton, element("span", { class: "play-gap" }),
      tool("share by a link", "", () => this.share(), "link"), tool("save as JSON", "", () => this.save("json"), "JSON"),
      tool("save as torch's CSV", "", () => this.save("csv"), "torch CSV"),
      tool("load a plan", "", () => this.file.click(), "load"), this.file);
    this.root = element("section", { class: "play", "aria-label": "build a schedule", "data-lm-suppress-shortcuts": "true" },
      element("div", { class: "play-head" }, this.levelList, this.goal,
        element("details", {}, element("summary", {}, "a hint"), this.hint)),
      this.costs, this.score, this.tools, this.said, this.board, this.keys, this.files, this.shared, this.heard);
    this.root.addEventListener("keydown", (event) => this.key(event));
  }

  turnKeys() {
    this.keys.hidden = !this.keys.hidden;
  }

  // --- drawing ------------------------------------------------------------------------------------

  draw() {
    const { view } = this;
    this.drawLevels();
    this.drawOwn();
    this.drawScore();
    this.goal.textContent = view.level.goal;
    this.hint.textContent = view.level.hint;
    const boxes = view.rows.flatMap((row) => [...row.actions, ...row.next.filter((one) => one.start !== null)]);
    const shortest = Math.min(...boxes.map((one) => one.end - one.start), Infinity);
    const horizon = Math.max(view.level.target ?? 0, view.level.par ?? 0, ...boxes.map((one) => one.end));
    const narrow = this.board.clientWidth < 620;
    const room = Math.max(200, this.board.clientWidth - (narrow ? 24 : 222));
    this.scale = Math.max(Number.isFinite(shortest) ? MIN_BOX / shortest : 0, horizon ? room / horizon : 40);
    this.width = Math.max(room, (horizon || 1) * this.scale);
    this.root.classList.toggle("play-narrow", narrow);
    const across = this.board.scrollLeft;
    this.rows.replaceChildren(...view.rows.map((row, rank) => this.drawRow(row, rank)), this.drawAxis(horizon));
    this.board.scrollLeft = across;
    this.drawCursor();
  }

  drawLevels() {
    const { progress } = this.host, now = this.view?.level.id;
    this.levelList.replaceChildren(...this.levels.map((one, n) => element("option", { value: one.id, selected: one.id === now },
      `${progress[one.id] ? (progress[one.id].helped ? "○" : "✓") : " "} ${n + 1}. ${one.title}`)));
  }

  drawScore() {
    const { score, level, complete, worth } = this.view, best = this.host.progress[level.id];
    const number = (value) => `${Number(value.toFixed(3))}`;
    const aim = level.aim === "span" ? "span" : "step";
    const said = [
      [aim, score.placed ? `${number(score[aim])} s` : "–"],
      ["goal", level.target === null ? "finish" : `${number(level.target)} s`],
      ["par", this.par === null || this.par === undefined ? "…" : `${number(this.par)} s`],
      ["your best", best ? `${number(best.best)} s${best.helped ? ", helped" : ""}` : "–"],
      ["bubble", complete ? `${Math.round(100 * score.bubble)} %` : "–"],
      ["peak", `${number(score.peak)}${level.cap === null ? "" : ` of ${level.cap}`}`],
      ["messages", score.messages], ["placed", `${score.placed} of ${score.total}`],
    ];
    this.score.replaceChildren(...said.map(([name, value]) => element("div", { "data-key": name },
      element("dt", {}, name), element("dd", {}, `${value}`))));
    this.score.classList.toggle("play-won", Boolean(this.view.won));
    this.score.dataset.worth = worth ?? "";
  }

  drawRow(row, rank) {
    const { level } = this.view, lane = element("div", { class: "play-lane", "data-rank": rank });
    lane.style.width = `${this.width}px`;
    for (const wait of row.waits) {
      const idle = element("button", {
        type: "button", tabindex: "-1", class: "play-wait", title: wait.why, "aria-label": `waits: ${wait.why}`,
        onclick: () => this.say(`Rank ${rank} waits from ${short(wait.start)} s to ${short(wait.end)} s: ${wait.why}.`),
      });
      this.span(idle, wait);
      lane.append(idle);
    }
    for (const one of row.actions) lane.append(this.span(this.box(one, "play-box"), one));
    const ghosts = this.help === "legal" ? [] : row.next.filter((one) => one.start !== null);
    ghosts.forEach((one, n) => {
      const ghost = this.span(this.box(one, "play-ghost"), one);
      ghost.style.top = `${4 + (n * 40) / ghosts.length}px`;
      ghost.style.height = `${40 / ghosts.length - 1}px`;
      lane.append(ghost);
    });
    for (const one of this.measured?.[rank] ?? []) lane.append(this.span(element("i", { class: "play-measured", title: one.name, "data-kind": one.name.replace(/\d/g, "") }), one));
    const strip = this.drawMemory(row, level);
    const chips = row.next.map((one) => {
      const chip = this.box(one, "play-chip");
      chip.classList.toggle("play-not-ready", this.help !== "legal" && one.start === null);
      return chip;
    });
    const head = element("div", { class: "play-rank" },
      element("b", {}, `rank ${rank}`), element("span", { class: "play-room", title: "micro-batches kept now, and the room for them" }, ...this.room(row, level)),
      element("span", { class: "play-chips" }, ...chips));
    return element("div", { class: "play-row", "data-rank": rank }, head, element("div", { class: "play-track" }, lane, strip));
  }

  /** Slots for what a rank keeps; a number where room has no limit. */
  room(row, level) {
    if (level.cap === null || level.cap > 8) return [`keeps ${row.kept}${level.cap === null ? "" : ` of ${level.cap}`}`];
    return Array.from({ length: level.cap }, (_, n) => element("i", { class: n < row.kept ? "play-slot play-taken" : "play-slot" }))
      .concat(element("span", { class: "play-unseen" }, `keeps ${row.kept} of ${level.cap}`));
  }

  drawMemory(row, level) {
    const most = Math.max(level.cap ?? 0, ...this.view.rows.map((one) => one.peak), 1);
    const strip = element("div", { class: "play-memory", title: "micro-batches kept, over time" });
    const end = row.actions.length ? row.actions[row.actions.length - 1].end : 0;
    row.memory.forEach(([time, held], n) => {
      const bar = this.span(element("i", {}), { start: time, end: row.memory[n + 1]?.[0] ?? end }, 0);
      bar.style.height = `${(100 * held) / most}%`;
      strip.append(bar);
    });
    strip.style.width = `${this.width}px`;
    return strip;
  }

  drawAxis(horizon) {
    const axis = element("div", { class: "play-axis", "aria-hidden": "true" });
    const step = [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 500].find((one) => one * this.scale >= 44) ?? 1000;
    for (let n = 0; n * step <= horizon + 1e-9; n += 1) {
      const tick = element("span", {}, `${Number((n * step).toFixed(3))}${n ? "" : " s"}`);
      tick.style.left = `${n * step * this.scale}px`;
      axis.append(tick);
    }
    const goal = this.view.level.target;
    if (goal !== null && this.view.level.aim === "step") {
      const mark = element("i", { class: "play-target", title: "the goal" });
      mark.style.left = `${goal * this.scale}px`;
      axis.append(mark);
    }
    axis.style.width = `${this.width}px`;
    return element("div", { class: "play-row play-foot" }, element("div", { class: "play-rank" }), axis);
  }

  span(one, { start, end }, gap = 1) {
    one.style.left = `${start * this.scale}px`;
    one.style.width = `${Math.max(1, (end - start) * this.scale - gap)}px`;
    return one;
  }

  /** A button of an action: its kind by color and letter, its micro-batch by number and stripe. */
  box(action, look) {
    const { level } = this.view, implied = level.chunks === 1;
    const words = `${action.kind}${action.micro}${"′".repeat(action.step)}`;
    const long = `${action.name}${action.start === null ? ", not ready" : `, ${short(action.start)} s to ${short(action.end)} s`}`;
    const made = element("button", {
      type: "button", tabindex: "-1", class: look, "data-name": action.name, "data-kind": action.kind, "data-chunk": action.chunk % 2,
      title: long, "aria-label": look === "play-box" ? long : `place ${long}`,
    }, implied || look === "play-box" ? words : action.name);
    made.style.setProperty("--hue", `${(action.micro * 137.5) % 360}`);
    if (look !== "play-box") made.addEventListener("click", () => this.place(action.name));
    made.addEventListener("pointerenter", () => this.follow(action.micro));
    made.addEventListener("pointerleave", () => this.follow(null));
    return made;
  }

  /** Dim all other micro-batches. */
  follow(micro) {
    for (const one of this.rows.querySelectorAll(".play-box")) {
      one.classList.toggle("play-dim", micro !== null && !one.dataset.name.endsWith(`${one.dataset.kind}${micro}`));
    }
  }

  drawCursor() {
    const { rank, at } = this.cursor;
    for (const old of this.rows.querySelectorAll(".play-here")) old.classList.remove("play-here");
    this.rows.querySelector(".play-cursor")?.remove();
    const lane = this.rows.querySelector(`.play-lane[data-rank="${rank}"]`);
    if (!lane) return;
    this.rows.children[rank].classList.add("play-here");
    const one = this.selected();
    if (one) lane.querySelector(`.play-box[data-name="${one.name}"]`)?.classList.add("play-here");
    else {
      const row = this.view.rows[rank].actions, caret = element("i", { class: "play-cursor" });
      caret.style.left = `${(at && row.length ? row[row.length - 1].end : 0) * this.scale}px`;
      lane.append(caret);
    }
  }

  drawOwn() {
    this.costs.hidden = this.view.level.id !== "own";
    if (this.costs.hidden) return;
    const change = () => {
      const costs = Object.fromEntries([...this.costs.elements].map((one) => [one.name, Number(one.value)]));
      this.helped = false;
      this.change({ do: "open", level: "own", costs, plan: "" }, true);
    };
    const focus = document.activeElement?.name;
    this.costs.replaceChildren(...Object.entries(this.own).map(([key, [low, high, first]]) => {
      const value = Number(this.view.costs[key] ?? first), words = { shape: SHAPE_WORDS, split: SPLIT_WORDS }[key];
      const input = words
        ? element("select", { name: key, onchange: change }, ...words.map((text, n) => element("option", { value: n, selected: n === value }, text)))
        : element("input", { name: key, type: "number", min: low, max: high, step: Number.isInteger(low) && high <= 64 ? 1 : 0.1, value, onchange: change });
      return element("label", {}, OWN_LABELS[key], input);
    }));
    if (focus) this.costs.elements[focus]?.focus();
  }

  // --- the keyboard -------------------------------------------------------------------------------

  key(event) {
    if (!this.view || event.altKey) return;
    const { key, target } = event, small = key.toLowerCase(), row = this.view.rows[this.cursor.rank];
    if (target.closest("select, input, summary") || (target.closest("button") && [" ", "Enter"].includes(key))) {
      if (!event.ctrlKey && !event.metaKey) event.stopPropagation(); // or a notebook takes it
      return;
    }
    const command = event.ctrlKey || event.metaKey;
    if (command && !["z", "y"].includes(small)) return;
    const moves = {
      ArrowUp: () => this.step(-1, 0), ArrowDown: () => this.step(1, 0), ArrowLeft: () => this.step(0, -1),
      ArrowRight: () => this.step(0, 1), Home: () => this.step(0, -999), End: () => this.step(0, 999),
      Delete: () => this.remove(event.shiftKey), Backspace: () => this.remove(event.shiftKey),
      ",": () => this.shift(-1), ".": () => this.shift(1), z: () => this.go(event.shiftKey ? 1 : -1), y: () => this.go(1),
      c: () => this.assist("coach"), p: () => this.assist("on"), "?": () => this.turnKeys(),
      Escape: () => this.step(0, 999),
      Enter: () => this.placeOne(row.next.find((one) => one.start !== null) ?? row.next[0]),
    };
    let act = moves[key] ?? moves[small];
    if (/^[fbiw]$/.test(small) && !command) {
      const mine = row.next.filter((one) => one.kind === small.toUpperCase());
      const left = this.view.rows[this.cursor.rank].stages[0];
      act = () => this.placeOne(mine.find((one) => one.start !== null) ?? mine[0]
        ?? { name: `${left}${small.toUpperCase()}0` });
    }
    if (/^[1-9]$/.test(key)) act = () => this.placeOne(row.next[Number(key) - 1]);
    event.stopPropagation();
    if (!act) return;
    event.preventDefault();
    act();
  }

  placeOne(one) {
    if (!one) return;
    const { actions } = this.view.rows[this.cursor.rank];
    this.place(one.name, this.cursor.at < actions.length ? this.cursor.at : undefined);
  }

  step(down, right) {
    const ranks = this.view.rows.length, { cursor } = this;
    cursor.rank = (cursor.rank + down + ranks) % ranks;
    const count = this.view.rows[cursor.rank].actions.length;
    cursor.at = down ? count : Math.max(0, Math.min(count, cursor.at + right));
    this.drawCursor();
    const one = this.selected();
    this.heard.textContent = `rank ${cursor.rank}: ${one ? `${one.name}, ${short(one.start)} s to ${short(one.end)} s` : "its end"}`;
    const here = this.rows.querySelector(".play-box.play-here, .play-cursor");
    here?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  // --- mouse and touch ----------------------------------------------------------------------------

  /** A press selects; a drag along the lane moves, a drag out of it takes back. */
  grab(event) {
    const held = event.target.closest(".play-box, .play-chip");
    if (!held || event.button) return;
    this.board.focus({ preventScroll: true });
    const { name } = held.dataset, chip = held.classList.contains("play-chip"), box = this.boxOf(name);
    const touch = event.pointerType === "touch", was = held.classList.contains("play-here");
    if (box) {
      this.cursor = { rank: box.rank, at: box.at };
      this.drawCursor();
      this.say(`${name}: ${short(box.start)} s to ${short(box.end)} s.`);
    }
    if (touch && !chip && !was) return; // the first tap selects, so that a swipe still scrolls
    const [x0, y0] = [event.clientX, event.clientY];
    let target = null, dragged = false;
    const move = (next) => {
      if (!dragged && Math.hypot(next.clientX - x0, next.clientY - y0) < 6) return;
      dragged = true;
      held.style.transform = `translate(${next.clientX - x0}px, ${next.clientY - y0}px)`;
      held.classList.add("play-dragged");
      target = this.target(next, name, box?.rank ?? this.rankOf(name));
    };
    const up = (last) => {
      for (const [kind, heard] of [["pointermove", move], ["pointerup", up], ["pointercancel", up]]) removeEventListener(kind, heard);
      held.style.transform = "";
      held.classList.remove("play-dragged");
      if (!dragged || last.type === "pointercancel") return;
      const swallow = (click) => click.stopPropagation(); // the click that follows a drag
      addEventListener("click", swallow, true);
      setTimeout(() => removeEventListener("click", swallow, true));
      if (chip && target !== null) this.place(name, target);
      else if (!chip && target === null) this.change({ do: "remove", action: name });
      else if (!chip) this.moveTo(name, target);
    };
    addEventListener("pointermove", move);
    addEventListener("pointerup", up);
    addEventListener("pointercancel", up);
  }

  rankOf(name) {
    return this.view.rows.findIndex((row) => row.next.some((one) => one.name === name));
  }

  /** The position in a rank's order under the pointer; null outside of its lane. */
  target(event, name, rank) {
    const lane = this.rows.querySelector(`.play-lane[data-rank="${rank}"]`).getBoundingClientRect();
    if (event.clientY < lane.top - 30 || event.clientY > lane.bottom + 30 || event.clientX < lane.left - 8) return null;
    const time = (event.clientX - lane.left) / this.scale;
    const others = this.view.rows[rank].actions.filter((one) => one.name !== name);
    return others.filter((one) => (one.start + one.end) / 2 < time).length;
  }

  // --- files, links, real ranks -------------------------------------------------------------------

  async save(kind) {
    const { level, costs, plan } = this.view;
    const answer = await this.host.ask({ do: "save", as: kind, level: level.id, costs, plan });
    download(kind, new Blob([answer.text], { type: "text/plain" }), `plan_${level.id}`);
  }

  async fragment() {
    const { level, costs, plan } = this.view;
    return (await this.host.ask({ do: "save", as: "link", level: level.id, costs, plan })).text;
  }

  async share() {
    const text = this.host.link(await this.fragment());
    this.shared.hidden = false;
    this.shared.textContent = text;
    const copied = await navigator.clipboard?.writeText(text).then(() => true, () => false);
    this.say(copied ? "The link is copied." : "Here is the link, below.");
  }

  async load() {
    const [file] = this.file.files;
    this.file.value = "";
    if (!file) return;
    if (file.size > 200000) this.say(`${file.name} has ${file.size} bytes: no plan is so large.`, true);
    else await this.read(await file.text());
  }

  async run() {
    if (!this.view.complete) return this.say("The plan isn't complete: place what is missing, or let it be finished.", true);
    const fragment = await this.fragment();
    if (!this.host.runs) {
      this.shared.hidden = false;
      this.shared.textContent = this.host.command(fragment);
      return this.say("A page can't start processes. On a machine with the lab, this runs your plan on real ranks:");
    }
    this.runButton.disabled = true;
    const now = { level: this.view.level.id, costs: this.view.costs, plan: this.view.plan };
    try {
      this.say(`${this.view.rows.length} processes run your plan, and sleep where a model would compute …`);
      const ran = await this.host.ask({ do: "run", ...now });
      if (ran.refused !== undefined) return this.say(ran.refused, true);
      if (this.view.plan === now.plan) this.measured = ran.measured;
      this.draw();
      this.say(`${ran.said} Now they train a LLaMA with it …`);
      const trained = await this.host.ask({ do: "train", ...now });
      this.say(`${ran.said} ${trained.refused ?? trained.said}`, trained.refused !== undefined || trained.right === false);
    } catch (error) {
      this.say(`It didn't run: ${error.message ?? error}`, true);
    } finally {
      this.runButton.disabled = false;
    }
    return undefined;
  }
}

const short = (seconds) => `${Number(seconds.toFixed(3))}`;
