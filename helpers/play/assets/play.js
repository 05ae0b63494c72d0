import { element, followTheme } from "./dom.js";
import { laneRow, legendOfPlay, readable, short, timeAxis } from "./lanes_of_play.js";
import { SCORE, drawMap, drawOwn, furnish } from "./furniture.js";

// The game's page. It knows no rule: it asks `host.ask(question)` and draws the answer.
//
// host.ask(question, tell)   a promise of the answer of helpers.play.answers; tell(words): why it takes long
// host.progress        {level: {best, helped}}, and host.keep(level, best, helped) adds to it
// host.link(fragment)  the text that shares a plan
// host.hold(now)       keeps history and place, to begin with as parts of `start`; may be left out
// host.left(level)     the plan that an earlier visit left there; may be left out
// host.lesson(stem)    the address of a lesson; may be left out
// host.runs            whether "run" and "train" may be asked; else host.command(fragment) is shown

const MOST_PLANS = 300; // that undo can bring back
const MIN_BOX = 34; // px of the shortest action: a finger hits it

export function mountPlay(el, host, start = {}) {
  return new PlayView(el, host, start);
}

class PlayView {
  constructor(el, host, start) {
    const cursor = { rank: 0, at: 0 };
    Object.assign(this, { host, view: null, history: [], at: -1, helped: false, measured: null, cursor });
    this.help = "ready";
    this.scale = 40;
    this.busy = this.turn = Promise.resolve();
    furnish(this);
    el.append(this.root);
    this.unfollow = followTheme((dark) => { this.root.dataset.theme = dark ? "dark" : "light"; });
    this.sizes = new ResizeObserver(() => this.view && this.draw());
    this.sizes.observe(this.board);
    this.begin(start).catch((error) => this.say(`No answer: ${error.message ?? error}`, true));
  }

  destroy() {
    this.sizes.disconnect();
    this.unfollow();
    this.root.remove();
  }

  async begin({ level, costs, link, held, history = [], at = -1 }) {
    const { levels, own } = await this.host.ask({ do: "levels" });
    this.levels = levels;
    this.own = own;
    Object.assign(this, { history, at });
    const { progress } = this.host, first = levels.find((one) => !progress[one.id]) ?? levels[0];
    if (held && await this.go(0)) return;
    if (link) {
      const [, id] = link.match(/^#level=(\w+)$/) ?? []; // no plan: whatever the player left there
      if (levels.some((one) => one.id === id) && await this.openLevel(id)) return;
      if (await this.read(link)) return;
      const reason = this.said.textContent;
      await this.open(first.id);
      this.say(reason, true);
    } else if (costs) await this.open(level, costs);
    else await this.openLevel(level || first.id);
  }

  /** Ask, one question after the other; an answer with a plan is drawn, a refusal is said. */
  change(question, fresh = false) {
    return this.inTurn(() => this.asked(question, fresh));
  }

  inTurn(act) {
    this.busy = this.busy.then(act).catch((error) => {
      this.say(`No answer: ${error.message ?? error}`, true);
      return false;
    });
    return this.busy;
  }

  async asked(question, fresh, to = null) {
    const now = this.view && { level: this.view.level.id, costs: this.view.costs, plan: this.view.plan };
    const loading = (words) => this.say(`${words} What you pressed is done then.`);
    const answer = await this.host.ask(question.do === "open" ? question : { ...now, ...question }, loading);
    if (answer.refused !== undefined) {
      this.say(answer.refused, true);
      this.point(answer.needs, "play-needed");
      return false;
    }
    if (question.do === "read") this.helped = answer.score.placed > 0;
    if (to !== null) Object.assign(this, { at: to, helped: this.history[to].helped });
    else if (fresh || answer.plan !== now.plan) this.note(answer);
    else this.history[this.at].helped = this.helped; // by the coach's words
    this.show(answer, fresh);
    return true;
  }

  /** Add a plan to what undo can bring back, and forget what redo could. */
  note({ plan, costs, level }) {
    this.history.splice(this.at + 1);
    this.history.push({ plan, costs, level: level.id, helped: this.helped, hash: location.hash });
    this.history.splice(0, this.history.length - MOST_PLANS);
    this.at = this.history.length - 1;
  }

  show(answer, fresh = false) {
    const before = this.view?.plan;
    this.view = answer;
    if (fresh) this.cursor = { rank: 0, at: answer.rows[0].actions.length };
    if (before !== answer.plan) this.measured = null;
    for (const part of this.root.children) part.inert = false;
    this.draw();
    this.say(answer.said);
    this.point(answer.about, "play-about", answer.worse);
    this.root.classList.toggle("play-won", answer.won);
    this.back.hidden = !answer.slip;
    this.runButton.hidden = !answer.complete;
    this.found.replaceChildren(...(answer.won ? this.foundWords(answer) : []));
    if (answer.won) this.won();
    this.showPar().catch(() => { /* without Python there is no par */ });
    this.host.hold?.({ history: this.history, at: this.at, won: answer.won });
  }

  /** What a plan that wins is called, and where one reads of it. */
  foundWords({ named, level: { lesson } }) {
    const href = this.host.lesson?.(lesson.stem), words = `Lesson ${lesson.stem.slice(0, 2)}: ${lesson.title}`;
    return [`${named} `, href ? element("a", { href }, words) : words];
  }

  async won() {
    const { id } = this.view.level, known = this.host.progress[id];
    if (id === "own") return; // other costs, another game
    const better = !known || (known.helped && !this.helped) || (known.helped === this.helped && this.view.worth < known.best);
    if (better) this.host.keep(id, this.view.worth, this.helped);
    drawMap(this);
    this.drawScore();
  }

  async showPar() {
    const { level, costs } = this.view, key = JSON.stringify([level.id, costs]);
    if (level.par === null && this.parKey !== key) {
      this.parKey = key;
      this.par = null;
      const { par } = await this.host.ask({ do: "par", level: level.id, costs });
      if (this.parKey === key) this.par = par;
    } else if (level.par !== null) {
      this.par = level.par;
      this.parKey = null;
    }
    this.drawScore();
  }

  open(level, costs = {}, plan = "", helped = false) {
    this.helped = helped;
    return this.change({ do: "open", level, costs, plan }, true);
  }

  /** Open a level with the plan that was last on the page there. */
  openLevel(id) {
    const last = this.history.findLast((one) => one.level === id) ?? this.host.left?.(id);
    return last ? this.openAgain(last) : this.open(id);
  }

  openAgain({ level, costs, plan, helped }) {
    return this.open(level, costs, plan, helped);
  }

  openNext() {
    const now = this.levels.findIndex((one) => one.id === this.view.level.id);
    this.board.focus({ preventScroll: true });
    return this.openLevel(this.levels[now + 1].id);
  }

  /** Open a plan of somebody else's: a link or a file. */
  read(text) {
    return this.change({ do: "read", text }, true);
  }

  place(name, position) {
    this.point([name], "play-asked"); // heard, should the answer take long
    return this.change({ do: "place", action: name, position }).then((done) => {
      const box = done && this.boxOf(name);
      if (box) this.cursor = { rank: box.rank, at: box.at + 1 };
      if (box) this.heard.textContent = `${name} stands at ${short(box.start)} s to ${short(box.end)} s`;
      if (done) this.drawCursor();
      if (done) this.rows.querySelector(".play-cursor, .play-box.play-here")?.scrollIntoView({ block: "nearest", inline: "nearest" });
      return done && this.help === "coach" && !this.view.complete ? this.assist("coach") : done;
    });
  }

  /** Undo or redo: the plans that were there before are legal, so they are opened again. */
  go(by) {
    return this.inTurn(() => {
      const to = this.at + by, { level, costs, plan } = this.history[to] ?? {};
      if (!level) return this.say(by < 0 ? "There's nothing to undo." : "There's nothing to redo.", true);
      return this.asked({ do: "open", level, costs, plan }, level !== this.view?.level.id, to);
    });
  }

  assist(what) {
    this.helped = true;
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
    return one ? this.takeBack(one.name, users) : this.say(`Rank ${this.cursor.rank} has nothing to take back.`, true);
  }

  /** Take an action back. What others need is refused, and goes with them if it's asked for again. */
  takeBack(name, users = false) {
    return this.change({ do: "remove", action: name, users: users || this.again === name }).then((done) => {
      this.again = done ? null : name;
      if (done) this.heard.textContent = `${name} is taken back`;
      const left = this.view.rows[this.cursor.rank].actions.length;
      if (done) this.cursor.at = Math.min(this.cursor.at, left);
      else this.said.append(". Take it back once more, and what needs it goes too");
      this.drawCursor();
    });
  }

  shift(by) {
    const one = this.selected();
    if (!one) return this.say("Which one? Press a box in a lane first, and then move it.", true);
    return this.moveTo(one.name, this.cursor.at + by);
  }

  moveTo(name, position) {
    return this.change({ do: "move", action: name, position: Math.max(0, position) }).then((done) => {
      const box = this.boxOf(name);
      if (done && box) this.cursor = { rank: box.rank, at: box.at };
      this.drawCursor();
    });
  }

  say(words, refused = false) {
    const text = words && this.view ? readable(this.view.level, words) : words;
    this.said.textContent = text ? text[0].toUpperCase() + text.slice(1) : "";
    this.said.classList.toggle("play-refused", Boolean(words) && refused);
  }

  /** Mark boxes and chips of some actions for a while. */
  point(names, mark, worse = []) {
    const marks = ["play-asked", "play-needed", "play-about", "play-worse"];
    for (const one of this.root.querySelectorAll(`.${marks.join(", .")}`)) one.classList.remove(...marks);
    for (const name of names ?? []) {
      const look = worse.includes(name) ? "play-worse" : mark;
      for (const one of this.root.querySelectorAll(`[data-name="${name}"]`)) one.classList.add(look);
    }
  }

  turnKeys() {
    this.keys.hidden = !this.keys.hidden;
  }

  draw() {
    const { view } = this;
    drawMap(this);
    drawOwn(this);
    this.title.textContent = view.level.title;
    this.drawScore();
    this.goal.textContent = view.level.goal;
    this.hint.textContent = view.level.hint;
    this.legend.replaceChildren(...legendOfPlay(view.level));
    const boxes = view.rows.flatMap((row) => [...row.actions, ...row.next.filter((one) => one.start !== null)]);
    const shortest = Math.min(...boxes.map((one) => one.end - one.start), Infinity);
    const horizon = Math.max(view.level.target ?? view.level.par ?? 0, view.level.least, ...boxes.map((one) => one.end));
    const narrow = this.board.clientWidth < 620;
    const room = Math.max(200, this.board.clientWidth - (narrow ? 24 : 222));
    this.scale = Math.max(Number.isFinite(shortest) ? MIN_BOX / shortest : 0, horizon ? room / horizon : 40);
    this.width = Math.max(room, (horizon || 1) * this.scale);
    this.root.classList.toggle("play-narrow", narrow);
    const across = this.board.scrollLeft, held = this.rows.contains(document.activeElement);
    this.rows.replaceChildren(...view.rows.map((row, rank) => laneRow(this, row, rank)), timeAxis(this, horizon));
    this.board.scrollLeft = across;
    if (held) this.board.focus({ preventScroll: true }); // what had the focus is gone
    this.drawCursor();
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
    this.score.replaceChildren(...said.map(([name, value]) => element("div", { "data-key": name, title: SCORE[name] },
      element("dt", {}, name), element("dd", {}, `${value}`))));
    this.score.dataset.worth = worth ?? "";
    this.next.hidden = !this.view.won || level.id === this.levels.at(-1).id;
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
}
