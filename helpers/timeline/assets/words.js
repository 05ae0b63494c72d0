import { eventsAt, factOf, factsOf, memoryAt, spanOf } from "./model.js";

// Numbers and events in words. Numbers read as in the static pictures (helpers.draw.text).

const NAMES_OF_FACTS = {
  micro_batch: "micro-batch", for: "waits to compute", until: "waits for rank", peer: "other rank",
};

/** Three significant digits, without an exponent where one can do without. */
export function significant(value, digits = 3) {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size < 1e-4 || size >= 1e7) return value.toExponential(digits - 1);
  return Number(value.toPrecision(digits)).toLocaleString("en-US", { maximumFractionDigits: 9 });
}

/** [seconds per unit, name] of the unit in which this much time is easy to read; a unit that isn't
    the second stays as it is. */
export function timeUnit(seconds, unit) {
  if (unit !== "s") return [1, unit];
  const units = [[1, "s"], [1e-3, "ms"], [1e-6, "µs"]];
  return units.find(([size]) => seconds >= size) ?? [1e-9, "ns"];
}

export function timeText(seconds, unit) {
  if (!seconds) return `0 ${unit}`;
  const [size, name] = timeUnit(Math.abs(seconds) * 1.0005, unit);
  return `${significant(seconds / size)} ${name}`;
}

export function bytesText(count) {
  const units = [[1e12, "TB"], [1e9, "GB"], [1e6, "MB"], [1e3, "kB"], [1, "B"]];
  const [size, name] = units.find(([size]) => Math.abs(count) >= size) ?? [1, "B"];
  return `${significant(count / size)} ${name}`;
}

/** "0.38 to 0.55 s": two times in the unit of the later one. */
function spanText(start, end, unit) {
  const [size, name] = end ? timeUnit(end * 1.0005, unit) : [1, unit];
  return `${significant(start / size)} to ${significant(end / size)} ${name}`;
}

/** "34 %", "0.4 %" rather than a rounded zero, "–" where there is no number. */
export function percent(share) {
  if (share === null) return "–";
  const value = 100 * share;
  const text = value >= 0.05 && value < 0.95 ? value.toPrecision(1) : Math.round(value) + 0;
  return `${text} %`;
}

/** What may stand in an event's box, the best first. */
export function labels(part, i) {
  const look = part.kinds[part.kind[i]], kind = look.kind;
  if (kind === "wait") {
    const cause = factOf(part, "cause", i), until = factOf(part, "until", i);
    if (cause === "finished") return ["finished"];
    if (cause === "memory") return ["waits for memory", "waits"];
    return until === undefined ? ["waits"] : [`waits for rank ${until}`, "waits"];
  }
  if ("FBIW".includes(kind)) {
    const micro = factOf(part, "micro_batch", i);
    return micro === undefined ? [look.letter] : [`${look.letter}${micro}`, look.letter];
  }
  if (kind === "update") return ["update", look.letter];
  if (look.collective) return [kind];
  if (look.known) return [look.letter];
  const name = factOf(part, "name", i);
  return name ? [name, kind] : [kind];
}

/** An action as its box says it: "B0" of "0B0", whose stage is a fact of its own. */
function boxText(action) {
  return String(action).replace(/^\d+(?=[FBIW])/, "");
}

/** An event in a few words: "F3 on rank 1", "message from rank 0 to rank 1". */
export function eventTitle(part, i) {
  const look = part.kinds[part.kind[i]], rank = part.ranks[part.rank[i]];
  const peer = factOf(part, "peer", i), micro = factOf(part, "micro_batch", i);
  if (look.kind === "wait") return waitTitle(part, i);
  if (look.collective) return `rank ${rank} is in ${look.kind} from ${spanText(part.start[i], part.end[i], part.unit)}`;
  if (look.kind === "send" && peer !== undefined) return `message to rank ${peer}, sent by rank ${rank}`;
  if (look.kind === "recv" && peer !== undefined) return `message from rank ${peer}, for rank ${rank}`;
  const word = look.word === look.kind ? "" : ` (${look.word})`;
  const batch = micro !== undefined && "FBIW".includes(look.kind) ? micro : "";
  return `${look.kind}${batch} on rank ${rank}${word}`;
}

/** The facts of an event as [name, text]. */
export function eventFacts(part, i) {
  const rows = [
    ["time", spanText(part.start[i], part.end[i], part.unit)],
    ["takes", timeText(part.end[i] - part.start[i], part.unit)],
  ];
  for (const [key, value] of factsOf(part, i)) {
    if (key === "cause" || (key === "name" && part.isWait(i))) continue;
    if (key === "bytes" && !value) continue; // a simulation without sizes
    const text = key === "bytes" ? bytesText(value) : key === "for" ? boxText(value) : String(value);
    rows.push([NAMES_OF_FACTS[key] ?? key.replaceAll("_", " "), text]);
  }
  if (part.memory.highest > 0) {
    rows.push(["memory", bytesText(memoryAt(part, part.rank[i], part.start[i]))]);
  }
  return rows;
}

/** Why a wait waits: one sentence. */
export function whyWait(part, i, causes) {
  const cause = factOf(part, "cause", i), until = factOf(part, "until", i);
  if (cause in causes) {
    return causes[cause].replaceAll("{for}", boxText(factOf(part, "for", i) ?? "")).replaceAll("{until}", until);
  }
  const what = factOf(part, "name", i) ?? "";
  if (until === undefined) return what ? `It waits: ${what}.` : "Nobody wrote down what it waits for.";
  const verbs = { recv: "until it sends", send: "until it receives" };
  return `It waits for rank ${until}, ${verbs[what] ?? `which comes last to the ${what || "meeting"}`}.`;
}

/** The title of a wait: for which rank, message or memory. A rank that has finished waits for none. */
function waitTitle(part, i) {
  const rank = `rank ${part.ranks[part.rank[i]]}`, cause = factOf(part, "cause", i);
  const until = factOf(part, "until", i);
  if (cause === "finished") return `${rank} has finished`;
  if (cause === "memory") return `${rank} waits for memory`;
  if (until === undefined) return `${rank} waits`;
  return `${rank} waits for ${cause === "message" ? "a message from " : ""}rank ${until}`;
}

/** What a rank does at a time: { title, facts, why, event }. It is busy, communicating, waiting or
    finished, and this is the one place that decides which. */
export function rankAt(part, row, time, causes) {
  const going = eventsAt(part, row, time), rank = `rank ${part.ranks[row]}`;
  const first = (test) => going.find(test);
  const known = first(part.isWork) ?? first(part.isCollective) ?? first(part.isWait);
  if (known !== undefined) return eventWords(part, known, causes);
  const kindIs = (kind) => (i) => part.kinds[part.kind[i]].kind === kind;
  const received = first(kindIs("recv")), message = received ?? first(part.isTransfer);
  if (message !== undefined) {
    const peer = factOf(part, "peer", message);
    const [does, side] = received === undefined ? ["sends a message", "to"] : ["waits for a message", "from"];
    const title = `${rank} ${does}${peer === undefined ? "" : ` ${side} rank ${peer}`}`;
    return { ...eventWords(part, message, causes), title, why: "The message is in transit." };
  }
  const input = first(kindIs("input"));
  if (input !== undefined) return { ...eventWords(part, input, causes), title: `${rank} reads its input` };
  const [does, why] = outside(spanOf(part, row), time);
  return { title: `${rank} ${does}`, facts: [["time", timeText(time, part.unit)]], why, event: -1 };
}

/** What a rank does while no event goes on, and the sentence to it. span: see `spanOf`. */
function outside(span, time) {
  if (!span) return ["was not recorded", "It has no events."];
  if (time < span[0]) return ["has not started", "Nothing earlier was recorded here."];
  if (time > span[1]) return ["has finished", "Nothing later was recorded here."];
  return ["computes nothing", "Nothing was recorded at this time: no work, no communication, no wait."];
}

function eventWords(part, event, causes) {
  const why = part.isWait(event) ? whyWait(part, event, causes) : "";
  return { title: eventTitle(part, event), facts: eventFacts(part, event), why, event };
}

/** What the pointer or the keys have found: { title, facts, why, event }. */
export function inWords({ part, row, event, time }, causes) {
  return event < 0 ? rankAt(part, row, time, causes) : eventWords(part, event, causes);
}
