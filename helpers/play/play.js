// The schedule game: the rules, the times, the coach and the board. A plan is an order of names for
// each rank ("1F0" is the forward of micro-batch 0 in stage 1), and its times follow: an action
// starts as soon as its rank is free and what it needs has arrived.

const ROUNDING = 1e-9;

/** A legal plan, complete or not. */
export class Board {
  constructor(level) {
    this.level = level;
    this.ranks = Math.max(...level.places) + 1;
    this.chunked = level.places.length > this.ranks;
    this.orders = Array.from({ length: this.ranks }, () => []);
    this.placed = new Map(); // by its name: {rank, start, end, free, until}
  }

  /** The plan of these orders, without what can't be done in it. */
  static of(level, orders) {
    const board = new Board(level), left = orders.map((order) => [...order]);
    for (;;) {
      const begun = left.filter((order) => order.length), there = new Set(left.flat());
      const gone = ([name]) => board.missing(name).some((need) => !there.has(need));
      const full = ([name]) => board.full(name);
      const next = begun.find(([name]) => !board.refusal(name));
      if (next) board.place(next.shift());
      else if (begun.length) (begun.find(gone) ?? begun.find(full) ?? begun[0]).shift();
      else return board;
    }
  }

  with(name) {
    return Board.of(this.level, this.orders).place(name);
  }

  facts(name) {
    const [, stage, kind, micro] = name.match(/^(\d+)([FBIW])(\d+)$/);
    return { stage: Number(stage), kind, micro: Number(micro), rank: this.level.places[stage] };
  }

  /** As a box and a sentence call it: the stage goes without saying if a rank has one alone. */
  short(name) {
    return this.chunked ? name : name.replace(/^\d+/, "");
  }

  long(name) {
    return `${this.short(name)} of rank ${this.facts(name).rank}`;
  }

  duration(name) {
    const { kind } = this.facts(name), { forward, half } = this.level;
    return { F: forward, B: 2 * half, I: half, W: half }[kind];
  }

  /** What must be done before; the other stage's result comes last. */
  needs(name) {
    const { stage, kind, micro } = this.facts(name), last = this.level.places.length - 1;
    if (kind === "F") return stage ? [`${stage - 1}F${micro}`] : [];
    if (kind === "W") return [`${stage}I${micro}`];
    return [`${stage}F${micro}`, ...(stage < last ? [`${stage + 1}${kind}${micro}`] : [])];
  }

  missing(name) {
    return this.needs(name).filter((need) => !this.placed.has(need));
  }

  /** How many micro-batches of a stage a rank keeps; as I frees little, W counts. */
  kept(rank) {
    const kept = { F: 1, B: -1, I: 0, W: -1 };
    return this.orders[rank].reduce((sum, name) => sum + kept[this.facts(name).kind], 0);
  }

  full(name) {
    const { kind, rank } = this.facts(name), { cap } = this.level;
    return kind === "F" && cap !== null && this.kept(rank) >= cap;
  }

  /** Why an action can't come next on its rank; "" if it can. */
  refusal(name) {
    const [need] = this.missing(name), { rank } = this.facts(name), { cap, kinds } = this.level;
    if (need) return `${this.long(name)} needs ${this.long(need)}, which isn't in the plan yet.`;
    if (!this.full(name)) return "";
    return `${this.short(name)} finds no room, because rank ${rank} keeps ${cap} already and has `
      + `room for ${cap}: a ${kinds.at(-1)} must free some first.`;
  }

  /** When an action comes to start at the end of its rank's order, and for whom it waits. */
  time(name) {
    const { rank } = this.facts(name), free = this.placed.get(this.orders[rank].at(-1))?.end ?? 0;
    const found = { free, start: free };
    for (const need of this.needs(name)) {
      const { end, rank: from } = this.placed.get(need);
      const comes = end + (from === rank ? 0 : this.level.latency);
      if (comes > found.start + ROUNDING) Object.assign(found, { start: comes, until: need, end });
    }
    return found;
  }

  place(name) {
    const { rank } = this.facts(name), { free, start, until } = this.time(name);
    this.placed.set(name, { rank, free, start, until, end: start + this.duration(name) });
    this.orders[rank].push(name);
    return this;
  }

  /** What a rank could do next: one action of each stage and kind, ready ones first. */
  next(rank) {
    const { places, kinds, micro_batches: count } = this.level;
    return places.flatMap((owner, stage) => (owner !== rank ? [] : [...kinds].flatMap((kind) => {
      const names = Array.from({ length: count }, (_, micro) => `${stage}${kind}${micro}`);
      const left = names.filter((name) => !this.placed.has(name));
      return (left.find((name) => !this.missing(name).length) ?? left[0] ?? []);
    })));
  }

  get ready() {
    const all = this.orders.flatMap((_, rank) => this.next(rank));
    return all.filter((name) => !this.refusal(name)).map((name) => [this.time(name).start, name]);
  }

  get total() {
    return this.level.kinds.length * this.level.places.length * this.level.micro_batches;
  }

  get complete() {
    return this.placed.size === this.total;
  }

  /** Of the step. */
  get seconds() {
    return Math.max(0, ...[...this.placed.values()].map(({ end }) => end));
  }
}

// --- the coach ---

// How a greedy hand plays: how far a rank runs ahead, as a multiple of 1F1B, and so many of its
// lengths a W waits for something better.
const HABITS = [1, 1.5, 2, 9].flatMap((ahead) => [[ahead, 0], [ahead, 0.9]]);

/** The plan, played to its end by whichever rank can act first; null: this led to a dead end. */
function playedOut(begun, [ahead, patience]) {
  const board = Board.of(begun.level, begun.orders), { places } = board.level;
  const chunks = places.length / board.ranks;
  const most = (rank) => (board.chunked ? Math.ceil((ahead * places.length) / 2) + 1
    : Math.round(ahead * chunks * (board.ranks - 1 - rank)) + chunks);
  const rate = ([start, name]) => {
    const { kind, stage } = board.facts(name);
    const waits = kind === "W" ? patience * board.duration(name) : 0;
    return [start + waits, "BIFW".indexOf(kind), -stage];
  };
  const better = (one, other) => one[0] - other[0] || one[1] - other[1] || one[2] - other[2];
  while (!board.complete) {
    const moves = board.ready.filter(([, name]) => {
      const { kind, rank } = board.facts(name);
      return kind !== "F" || board.kept(rank) < most(rank);
    });
    if (!moves.length) return null;
    board.place(moves.map((move) => [rate(move), move[1]]).sort(([a], [b]) => better(a, b))[0][1]);
  }
  return board;
}

/** The best way to go on that the coach knows: par's plan, or a greedy hand's. */
export function finished(board) {
  const { known } = board.level, ends = HABITS.map((habit) => playedOut(board, habit));
  const begun = board.orders.every((row, rank) => row.every((name, n) => name === known[rank][n]));
  if (begun) ends.unshift(Board.of(board.level, known));
  return ends.filter(Boolean).sort((a, b) => a.seconds - b.seconds)[0] ?? null;
}

const worth = (board) => finished(board)?.seconds ?? Infinity;
const leads = (seconds) => (seconds === Infinity ? "a dead end" : `${seconds} s`);
const listed = (words) => words.join(", ").replace(/, ([^,]*)$/, " and $1");

/** The action since which the coach knows no way to par. */
function slipOf({ level, orders, placed }) {
  const names = [...placed.keys()].sort((a, b) => placed.get(a).start - placed.get(b).start);
  return names.find((_, count) => {
    const first = new Set(names.slice(0, count + 1));
    const before = Board.of(level, orders.map((order) => order.filter((name) => first.has(name))));
    return worth(before) > level.par + ROUNDING;
  });
}

/** What the coach says of the next move, and what it would do: {words, move} or {words, slip}. */
export function coached(board) {
  const { par } = board.level, plan = finished(board);
  if ((plan?.seconds ?? Infinity) > par + ROUNDING) {
    const slip = slipOf(board), { start } = board.placed.get(slip);
    const words = `Since ${board.long(slip)} at ${start} s, I know no way to ${par} s: take it `
      + "back, and do something else in its place.";
    return { words, slip };
  }
  if (board.complete) return { words: "" };
  const first = Math.min(...board.ready.map(([start]) => start));
  const soon = board.ready.filter(([start]) => start <= first + ROUNDING).map(([, name]) => name);
  const { rank } = board.facts(soon[0]), moves = soon.filter((it) => board.facts(it).rank === rank);
  const values = new Map(moves.map((name) => [name, worth(board.with(name))]));
  const move = moves.reduce((best, name) => (values.get(name) < values.get(best) ? name : best));
  const best = values.get(move), worse = moves.filter((name) => values.get(name) > best + ROUNDING);
  const cost = (names) => names.map((it) => `${board.short(it)} leads to ${leads(values.get(it))}`);
  if (best > par + ROUNDING) {
    const start = (name) => plan.placed.get(name).start;
    const left = [...plan.placed.keys()].filter((name) => !board.placed.has(name));
    const better = left.sort((a, b) => start(a) - start(b))[0];
    const words = `Do ${board.long(better)}, which can still reach ${par} s. On rank ${rank} now, `;
    return { words: `${words}${listed(cost(moves))}.`, move: better };
  }
  const one = `Rank ${rank} has one thing to do: ${board.short(move)}.`;
  if (moves.length === 1) return { words: one, move };
  if (worse.length) {
    const words = `Rank ${rank} has a real choice: with ${board.short(move)} you can still reach `;
    return { words: `${words}${best} s, and ${listed(cost(worse))}.`, move };
  }
  const names = moves.map((name) => board.short(name)).join(" or ");
  return { words: `Rank ${rank} may do ${names}: it makes no difference.`, move };
}

// --- the page ---

const START = "Press what a rank is to do next: it goes to the end of its lane. Press a box to "
  + "take it back. Keys: arrows and Enter, F B I W, U undo, C coach.";

function render({ model, el }) {
  const root = element("section", "lab-play", el), levels = model.get("levels");
  const choice = element("select", "", root), goal = element("p", "play-goal", root);
  const grid = element("div", "play-board", root);
  const tools = element("div", "play-tools", root), score = element("p", "play-score", root);
  const said = element("p", "play-said", root);
  said.setAttribute("role", "status");
  grid.setAttribute("role", "group");
  [root.ariaLabel, grid.ariaLabel, choice.ariaLabel] = ["schedule game", "plan", "level"];
  keepKeys(root);
  let board, past, active, advice;

  const won = () => board.complete && board.seconds <= board.level.par + ROUNDING;

  function begin(id, orders = []) {
    model.set("level", id);
    board = Board.of(levels.find((level) => level.id === id), orders);
    [past, active] = [[], { rank: 0, name: "" }];
    show(START);
  }

  /** Go on with another plan, which undo takes back. */
  function to(next, words) {
    past.push(board.orders);
    board = next;
    show(board.complete ? praise() : words);
  }

  /** What a complete plan is worth; a win is remembered. */
  function praise() {
    const { seconds, level: { id, par } } = board, best = model.get("best");
    if (!won()) {
      return `Complete in ${seconds} s, and par is ${par} s: press a box to take it back, or ask `
        + "the coach where the time went.";
    }
    model.set("best", { ...best, [id]: Math.min(seconds, best[id] ?? Infinity) });
    const better = seconds < par - ROUNDING;
    return `Done: ${seconds} s. ${better ? `That's better than par, which is ${par} s.`
      : "That's par: no named schedule is faster here."}`;
  }

  function move(name) {
    const refused = board.refusal(name);
    active = { rank: board.facts(name).rank, name };
    if (refused) return show(refused, true);
    const { start, free, until, end } = board.time(name), here = `Rank ${active.rank}`;
    const why = until === undefined ? "" : end < start - ROUNDING
      ? ` ${here} waits from ${free} s for the message with ${board.long(until)}.`
      : ` ${here} waits from ${free} s until ${board.long(until)} is done.`;
    active.name = "";
    return to(board.with(name), `${board.long(name)} starts at ${start} s.${why}`);
  }

  function takeBack(name) {
    const orders = board.orders.map((order) => order.filter((each) => each !== name));
    active = { rank: board.facts(name).rank, name: "" };
    to(Board.of(board.level, orders), `${board.long(name)} is taken back, and all that needs it.`);
  }

  function undo() {
    if (!past.length) return show("There's nothing to undo.");
    board = Board.of(board.level, past.pop());
    return show("Undone.");
  }

  function coach() {
    const { words, move: best, slip } = coached(board), name = best ?? slip;
    if (name) active = { rank: board.facts(name).rank, name };
    show(words || praise(), false, { best, slip });
  }

  // --- what is shown ---

  /** Draw everything anew; words: what has happened, refused: that it hasn't. */
  function show(words, refused = false, marks = {}) {
    advice = marks;
    const { level } = board, number = levels.indexOf(level), best = model.get("best");
    choice.replaceChildren(...levels.map(({ id, title }, n) => new Option(
      `${n + 1}. ${title}${id in best ? ` ✓ ${best[id]} s` : ""}`, id, false, n === number)));
    goal.textContent = level.goal;
    const focused = grid.contains(root.getRootNode().activeElement);
    const ends = [...board.placed.values()].map(({ end }) => end);
    const until = Math.max(...ends, board.level.par) * 1.03;
    grid.replaceChildren();
    for (let rank = 0; rank < board.ranks; rank++) row(rank, until);
    axis(until);
    const stop = pick();
    if (stop) stop.tabIndex = 0;
    if (focused) stop?.focus();
    onward.hidden = !won() || number === levels.length - 1;
    score.textContent = `step ${board.seconds} s · `;
    element("span", "play-parname", score, `par ${level.par} s`);
    score.append(` · placed ${board.placed.size} of ${board.total}`);
    said.textContent = words;
    said.className = `play-said ${refused ? "play-refused" : won() ? "play-won" : ""}`;
    model.set("plan", board.orders);
    model.save_changes();
  }

  function row(rank, until) {
    const { level } = board, share = (time) => `${(100 * time) / until}%`;
    const room = level.cap === null ? "" : `keeps ${board.kept(rank)} of ${level.cap}`;
    element("small", "", element("div", "play-name", grid, `rank ${rank}`), room);
    const lane = element("div", "play-lane", grid);
    for (const name of board.orders[rank]) {
      const { start, free, until: other, end } = board.placed.get(name);
      if (start > free + ROUNDING) {
        const { rank: from } = board.facts(other), wait = element("div", "play-wait", lane);
        element("span", "", wait, start - free > until / 8 ? `waits for rank ${from}` : "");
        wait.title = `Rank ${rank} waits for ${board.long(other)}.`;
        Object.assign(wait.style, { left: share(free), width: share(start - free) });
      }
      const box = button(name, lane, () => takeBack(name), `from ${start} to ${end} s, placed`);
      Object.assign(box.style, { left: share(start), width: share(end - start) });
      box.classList.toggle("play-slip", name === advice.slip);
    }
    element("div", "play-par", lane).style.left = share(board.level.par);
    const moves = element("div", "play-next", grid); // a stage in each row
    moves.style.gridTemplateColumns = `repeat(${level.kinds.length}, max-content)`;
    for (const name of board.next(rank)) {
      const ready = !board.refusal(name);
      const when = ready ? `would start at ${board.time(name).start} s` : "not yet";
      const made = button(name, moves, () => move(name), when);
      made.classList.add("play-move");
      made.classList.toggle("play-not", !ready);
      made.classList.toggle("play-best", name === advice.best);
    }
    if (!moves.children.length) element("span", "play-done", moves, "all done");
  }

  function button(name, parent, act, when) {
    const { kind, stage, rank } = board.facts(name), words = `${board.long(name)}, ${when}`;
    const made = element("button", `play-${kind}`, parent, board.short(name));
    [made.type, made.tabIndex, made.onclick] = ["button", -1, act];
    [made.title, made.ariaLabel] = [words, words];
    Object.assign(made.dataset, { name, rank });
    made.classList.toggle("play-later", board.level.places.indexOf(rank) !== stage);
    return made;
  }

  function axis(until) {
    element("div", "", grid);
    const line = element("div", "play-axis", grid);
    for (const tick of ticks(0, until, 12)) {
      element("span", "", line, String(tick)).style.left = `${(100 * tick) / until}%`;
    }
    element("div", "play-unit", grid, "seconds");
  }

  // --- keys ---

  const ofRank = (rank) => [...grid.querySelectorAll(`[data-rank="${rank}"]`)];

  /** The button that the keys are at: the one last touched, or what its rank can do next. */
  function pick(rank = active.rank) {
    const all = ofRank(rank), moves = all.filter((one) => one.classList.contains("play-move"));
    const same = rank === active.rank && all.find((one) => one.dataset.name === active.name);
    const ready = moves.find((one) => !one.classList.contains("play-not"));
    return same || ready || moves[0] || all.at(-1) || grid.querySelector("button");
  }

  function go(button) {
    if (!button) return;
    for (const one of grid.querySelectorAll("button")) one.tabIndex = -1;
    active = { rank: Number(button.dataset.rank), name: button.dataset.name };
    button.tabIndex = 0;
    button.focus();
  }

  function beside(by) {
    const all = ofRank(active.rank);
    go(all[all.indexOf(root.getRootNode().activeElement) + by]);
  }

  function letter(kind) {
    const names = board.next(active.rank).filter((name) => board.facts(name).kind === kind);
    const name = names.find((each) => !board.refusal(each)) ?? names[0];
    if (name) move(name);
    else show(`Rank ${active.rank} has no ${kind} left to do.`, true);
  }

  grid.onfocusin = ({ target }) => { active.rank = Number(target.dataset.rank); };
  root.onkeydown = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target === choice) return;
    const inside = grid.contains(event.target), key = event.key.toUpperCase();
    const acts = { U: undo, C: coach };
    if (inside) {
      for (const kind of "FBIW") acts[kind] = () => letter(kind);
      Object.assign(acts, {
        ARROWLEFT: () => beside(-1),
        ARROWRIGHT: () => beside(1),
        ARROWUP: () => active.rank > 0 && go(pick(active.rank - 1)),
        ARROWDOWN: () => active.rank < board.ranks - 1 && go(pick(active.rank + 1)),
      });
    }
    if (!(key in acts)) return;
    acts[key]();
    event.preventDefault();
  };
  function tool(name, act) {
    return Object.assign(element("button", "", tools, name), { type: "button", onclick: act });
  }

  tool("Undo", undo);
  tool("Coach", coach);
  tool("Hint", () => show(board.level.hint));
  tool("Empty lanes", () => begin(board.level.id));
  const onward = tool("Next level", () => {
    begin(levels[levels.indexOf(board.level) + 1].id);
    pick().focus();
  });
  onward.className = "play-on";
  choice.onchange = () => begin(choice.value);
  begin(model.get("level"), model.get("plan"));
}

export const mount = (el, state, changed) => mountWidget(render, el, state, changed);
export default { render };
