import { factOf, factsOf, memoryAt, waitAt } from "./model.js";

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

/** [seconds per unit, name] of the unit in which this much time is easy to read. */
export function timeUnit(seconds) {
  const units = [[1, "s"], [1e-3, "ms"], [1e-6, "µs"]];
  return units.find(([size]) => seconds >= size) ?? [1e-9, "ns"];
}

export function timeText(seconds) {
  if (!seconds) return "0 s";
  const [size, name] = timeUnit(Math.abs(seconds) * 1.0005);
  return `${significant(seconds / size)} ${name}`;
}

export function bytesText(count) {
  const units = [[1e12, "TB"], [1e9, "GB"], [1e6, "MB"], [1e3, "kB"], [1, "B"]];
  const [size, name] = units.find(([size]) => Math.abs(count) >= size) ?? [1, "B"];
  return `${significant(count / size)} ${name}`;
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
    const until = factOf(part, "until", i);
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

/** An event in a few words: "F3 on rank 1", "message from rank 0 to rank 1". */
export function eventTitle(part, i) {
  const look = part.kinds[part.kind[i]], rank = part.ranks[part.rank[i]];
  const peer = factOf(part, "peer", i), micro = factOf(part, "micro_batch", i);
  if (look.kind === "wait") return `rank ${rank} waits`;
  if (look.kind === "send" && peer !== undefined) return `message to rank ${peer}, sent by rank ${rank}`;
  if (look.kind === "recv" && peer !== undefined) return `message from rank ${peer}, for rank ${rank}`;
  const word = look.word === look.kind ? "" : ` (${look.word})`;
  const batch = micro !== undefined && "FBIW".includes(look.kind) ? micro : "";
  return `${look.kind}${batch} on rank ${rank}${word}`;
}

/** The facts of an event as [name, text]. */
export function eventFacts(part, i) {
  const rows = [
    ["time", `${timeText(part.start[i])} to ${timeText(part.end[i])}`],
    ["takes", timeText(part.end[i] - part.start[i])],
  ];
  for (const [key, value] of factsOf(part, i)) {
    if (key === "cause" || (key === "name" && part.isWait(i))) continue;
    const text = key === "bytes" ? bytesText(value) : String(value);
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
    return causes[cause].replaceAll("{for}", factOf(part, "for", i)).replaceAll("{until}", until);
  }
  const what = factOf(part, "name", i) ?? "";
  if (until === undefined) return what ? `It waits: ${what}.` : "Nobody wrote down what it waits for.";
  const verbs = { recv: "until it sends", send: "until it receives" };
  return `It waits for rank ${until}, ${verbs[what] ?? `which comes last to the ${what || "meeting"}`}.`;
}

/** Why a rank computes nothing at a time: { title, facts, why }. */
export function whyIdle(part, row, time, causes) {
  const rank = part.ranks[row], wait = waitAt(part, row, time), steps = part.steps[row];
  const title = `rank ${rank} computes nothing`;
  if (wait >= 0) {
    return { title, facts: eventFacts(part, wait), why: whyWait(part, wait, causes), event: wait };
  }
  const before = steps.findLast((i) => part.end[i] <= time);
  const after = steps.find((i) => part.start[i] >= time);
  const why = after === undefined ? "It has finished; nothing else was recorded here."
    : before === undefined ? "It has not started yet; nothing was recorded here."
    : "Nothing was recorded here: neither work nor a wait.";
  return { title, facts: [["time", timeText(time)]], why, event: -1 };
}

/** What the pointer or the keys have found: { title, facts, why }. */
export function inWords(found, causes) {
  const { part, row, event, time } = found;
  if (event < 0) return whyIdle(part, row, time, causes);
  const why = part.isWait(event) ? whyWait(part, event, causes) : "";
  return { title: eventTitle(part, event), facts: eventFacts(part, event), why, event };
}
