// The first page's plan: moved by a press, simulated here, beside what three processes measured.

const { start, unit, measured } = JSON.parse(document.getElementById("plans").textContent);
const board = document.getElementById("plan"), times = document.getElementById("times"), verdict = document.querySelector(".heard");
const LONG = { F: unit, B: 2 * unit };
const first = start.map((row) => row.split(" "));
const nameOf = (plan) => plan.map((row) => row.join(" ")).join("|");
const faster = document.querySelector("[data-do=faster]");
const NOT_RUN = "No run of this plan was recorded: only the first plan and those one move away from it were run. "
  + "Take your last move back (press the box to the right of the outlined one), or get the lab and run the plan yourself.";
let plan = first, before = null; // before: the ms of the plan that stood there, if it ends

/** When each action begins and ends, in ms; `waits` says what each rank waits for, if none can go on. */
function simulated(rows) {
  const ends = new Map(), lanes = rows.map(() => []), free = rows.map(() => 0);
  const lacks = (rank, action) => (action[0] === "F"
    ? [[action, rank - 1]] : [[`F${action.slice(1)}`, rank], [action, rank + 1]])
    .filter(([, other]) => other >= 0 && other < rows.length);
  for (let moved = true; moved;) {
    moved = false;
    rows.forEach((row, rank) => {
      const action = row[lanes[rank].length], needs = action ? lacks(rank, action).map((need) => ends.get(need.join())) : [undefined];
      if (needs.includes(undefined)) return;
      const from = Math.max(free[rank], ...needs), to = free[rank] = from + LONG[action[0]];
      lanes[rank].push([from, to]);
      ends.set([action, rank].join(), to);
      moved = true;
    });
  }
  const waits = rows.flatMap((row, rank) => {
    const action = row[lanes[rank].length];
    const [need, other] = action ? lacks(rank, action).find((each) => !ends.has(each.join())) : [];
    return need ? [`rank ${rank} can't do ${action} before ${need} of ${other === rank ? "its own" : `rank ${other}`}`] : [];
  });
  return { lanes, waits, ms: Math.max(...free) };
}

const best = Math.min(...Object.keys(measured).map((name) => simulated(name.split("|").map((row) => row.split(" "))))
  .filter(({ waits }) => !waits.length).map(({ ms }) => ms));
const longest = Math.max(...Object.values(measured).map((one) => one.ms ?? 0));

function lane(rank, row, when, long) {
  const boxes = (when ?? []).map(([from, to], at) => {
    const box = made("i", row[at]);
    box.dataset.kind = row[at][0];
    box.style.cssText = `left: ${100 * from / long}%; width: ${100 * (to - from) / long}%`;
    return box;
  });
  return line(rank, "lane", boxes, `${100 * long / longest}%`);
}

function line(rank, kind, parts, width = "") {
  const holder = made("div", ...parts);
  holder.className = kind;
  holder.style.width = width;
  if (kind === "lane") holder.setAttribute("aria-hidden", "true"); // the sentence below says it
  return [made("span", `rank ${rank}`), holder];
}

function made(tag, ...inside) {
  const element = document.createElement(tag);
  element.append(...inside);
  return element;
}

const heading = (words, number) => made("b", words, made("strong", number));

function draw(moved) {
  const guess = simulated(plan), kept = measured[nameOf(plan)], hangs = guess.waits.length > 0;
  const chips = plan.map((row, rank) => line(rank, "plan", row.map((action, at) => {
    const chip = made("button", action);
    chip.type = "button";
    chip.dataset.kind = action[0];
    chip.setAttribute("aria-label", `${action} of rank ${rank}: move it left`);
    if (moved?.[0] === rank && moved[1] === at) chip.dataset.moved = "";
    chip.addEventListener("click", () => move(rank, at));
    return chip;
  })));
  board.replaceChildren(heading("The plan", ""), ...chips.flat());
  const ran = kept?.ms ? [heading("Run earlier by three processes on a machine with two cores, each pass a timed wait: ", `${kept.ms} ms`),
    ...plan.flatMap((row, rank) => lane(rank, row, kept.rows[rank], kept.ms))]
    : [hangs ? heading("Run by three processes: ", "refused") : heading(NOT_RUN, "")];
  times.replaceChildren(heading("Simulated: ", hangs ? "it never ends" : `${guess.ms} ms`),
    ...plan.flatMap((row, rank) => lane(rank, row, guess.lanes[rank], hangs ? longest : guess.ms)), ...ran);
  if (moved) board.querySelectorAll(".plan")[moved[0]].children[moved[1]].focus({ preventScroll: true });
  verdict.textContent = said(guess, kept, hangs);
  faster.disabled = !hangs && guess.ms <= best;
  faster.textContent = faster.disabled ? "No plan here is faster" : "Show me a faster plan";
  before = hangs ? null : guess.ms;
}

function said(guess, kept, hangs) {
  const own = guess.waits.find((words) => words.includes("its own"));
  if (own) return `Not a plan: ${own}.`;
  if (hangs) return `A deadlock. The lab proves each plan before it runs, and says: “${kept?.hangs ?? guess.waits.join(", and ")}”`;
  const near = kept ? `Three real processes took ${kept.ms} ms, ${(100 * (kept.ms / guess.ms - 1)).toFixed(1)} % more than simulated.` : "";
  if (plan === first) {
    const work = plan.flat().reduce((sum, action) => sum + LONG[action[0]], 0) / plan.length;
    return `Hatched is waiting: ${Math.round(100 * (1 - work / guess.ms))} % of the time. ${near} One move makes this plan ${guess.ms - best} ms faster.`;
  }
  if (before === null) return `This plan doesn't deadlock. ${near}`;
  const change = guess.ms - before;
  return `${change ? `${Math.abs(change)} ms ${change < 0 ? "faster" : "slower"} than before. ` : "No difference: that box had time to spare. "}${near}`;
}

function move(rank, at) {
  const row = plan[rank];
  if (at < 1) {
    verdict.textContent = `${row[0]} is what rank ${rank} does first: it can't go further left.`;
    return;
  }
  const moved = [...row.slice(0, at - 1), row[at], row[at - 1], ...row.slice(at + 1)];
  plan = plan.map((each, one) => (one === rank ? moved : each));
  draw([rank, at - 1]);
}

/** The rank and place of the one move from the first plan that ends there. */
function towards(wanted) {
  const name = Object.keys(measured).reduce((best, each) => (wanted(measured[each], measured[best]) ? each : best));
  const rank = name.split("|").findIndex((row, one) => row !== start[one]);
  return [rank, 1 + name.split("|")[rank].split(" ").findIndex((action, at) => action !== first[rank][at])];
}

const DO = {
  faster: () => towards((one, best) => one.ms < (best.ms ?? Infinity)),
  hangs: () => towards((one, best) => one.hangs && !best.hangs),
};
document.querySelector(".doing").addEventListener("click", ({ target }) => {
  if (!target.dataset.do) return;
  plan = first;
  if (DO[target.dataset.do]) move(...DO[target.dataset.do]());
  else draw();
  target.focus();
});
draw();
