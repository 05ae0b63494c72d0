// The projector's page: asks the host once a second what to show, and draws it.

const $ = (id) => document.getElementById(id);
const number = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat("en-US", { notation: "compact", maximumSignificantDigits: 3 });
const SIGNS = { computing: "●", delivering: "▲", starting: "…", away: "○" };

function put(tag, facts, text, parent) {
  const made = tag.startsWith("svg:")
    ? document.createElementNS("http://www.w3.org/2000/svg", tag.slice(4))
    : document.createElement(tag);
  for (const [name, value] of Object.entries(facts)) made.setAttribute(name, value);
  made.textContent = text; // never HTML: nicknames and stories come from others
  parent.append(made);
  return made;
}

function clock(seconds) {
  const minutes = Math.floor(seconds / 60);
  return `${minutes}:${String(seconds % 60).padStart(2, "0")}`;
}

function counts(seen) {
  const line = $("counts");
  line.textContent = "";
  const here = seen.laptops.filter((one) => one.doing !== "away");
  const speed = here.reduce((sum, one) => sum + one.speed, 0);
  const say = (value, words) => {
    put("b", {}, value, line);
    line.append(` ${words}   `);
  };
  say(here.length, here.length === 1 ? "laptop" : "laptops");
  say(number.format(speed), "tokens/s");
  say(short.format(seen.tokens), "tokens merged");
  say(clock(seen.seconds), seen.ended ? "minutes, and done" : "minutes");
  line.append(seen.cost);
}

function laptops(list) {
  const rows = 10; // as many as fit below each other
  const columns = Math.max(2, Math.ceil(list.length / rows));
  $("laptops").style.setProperty("--columns", columns);
  $("laptops").textContent = "";
  for (const one of list) {
    const tile = put("li", { class: one.doing }, "", $("laptops"));
    const speed = columns < 4 ? `${number.format(one.speed)} tokens/s` : `${short.format(one.speed)} /s`;
    put("b", {}, one.name, tile);
    put("span", {}, `${SIGNS[one.doing]} ${one.doing === "away" ? "away" : speed}`, tile);
  }
}

// Round steps, at most so many of them, from 0 to the largest value.
function ticks(most, count) {
  const rough = Math.max(most, 1e-9) / count;
  const ten = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((f) => f * ten).find((s) => s >= rough);
  return Array.from({ length: Math.floor(most / step) + 1 }, (_, i) => i * step);
}

function chart(seen) {
  const svg = $("chart");
  const { width, height } = svg.getBoundingClientRect();
  const em = innerHeight * 0.026;
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.textContent = "";
  if (!seen.losses.length) {
    put("svg:text", { x: em, y: 2 * em }, "The first loss comes with the first merge.", svg);
    return;
  }
  const [left, right, top, bottom] = [2.6 * em, width - em, 2.2 * em, height - 2.6 * em];
  const far = Math.max(...seen.losses.map((p) => p[0]), 1);
  const high = Math.max(...seen.losses.map((p) => p[1]), ...seen.alone.map((p) => p[1]));
  const x = (tokens) => left + ((right - left) * tokens) / far;
  const y = (loss) => bottom - ((bottom - top) * loss) / high;
  for (const value of ticks(high, 6)) {
    put("svg:line", { class: "grid", x1: left, x2: right, y1: y(value), y2: y(value) }, "", svg);
    put("svg:text", { x: left - 0.4 * em, y: y(value) + 0.35 * em, "text-anchor": "end" }, value, svg);
  }
  for (const value of ticks(far, 4)) {
    const where = { x: x(value), y: bottom + 1.2 * em, "text-anchor": value ? "middle" : "start" };
    if (x(value) < right - 1.5 * em) put("svg:text", where, short.format(value), svg);
  }
  put("svg:text", { x: left, y: 1.1 * em }, "loss on stories nobody trains on", svg);
  put("svg:text", { x: right, y: height - 0.3 * em, "text-anchor": "end" }, "tokens merged", svg);
  const path = (points) => points.map((p, i) => `${i ? "L" : "M"}${x(p[0])} ${y(p[1])}`).join("");
  const last = seen.losses.at(-1);
  let beside = null;
  if (seen.alone.length > 1) {
    const points = seen.alone.filter((p) => p[0] <= far);
    const reached = seen.alone.at(-1)[1];
    put("svg:path", { class: "alone", d: path([...points, [far, reached]]) }, "", svg);
    beside = y(reached) - 0.5 * em;
    const words = `one laptop alone, by now: ${reached.toFixed(2)}`;
    put("svg:text", { class: "alone", x: right, y: beside, "text-anchor": "end" }, words, svg);
  }
  put("svg:path", { class: "class", d: path(seen.losses) }, "", svg);
  let where = y(last[1]) + 1.2 * em; // below its end, or above all where there's no room
  const meets = beside !== null && Math.abs(where - beside) < 1.2 * em;
  if (where > bottom || meets) where = Math.min(y(last[1]) - 0.5 * em, (beside ?? bottom) - 1.3 * em);
  const words = `the class: ${last[1].toFixed(2)}`;
  put("svg:text", { class: "class", x: right, y: where, "text-anchor": "end" }, words, svg);
  svg.setAttribute("aria-label", `Loss of the class ${last[1]} after ${last[0]} tokens`);
}

async function look() {
  try {
    const answer = await fetch("state", { signal: AbortSignal.timeout(5000) });
    if (!answer.ok) throw new Error(answer.status);
    const seen = await answer.json();
    $("line").textContent = seen.line;
    counts(seen);
    laptops(seen.laptops);
    chart(seen);
    $("story").textContent = seen.story;
    $("story").hidden = !seen.story;
    $("lost").hidden = true;
  } catch {
    $("lost").hidden = false;
  }
  setTimeout(look, 1000);
}

look();
