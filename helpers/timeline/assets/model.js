// The model: events as columns, and questions about them. It knows nothing of pixels, so that it
// can be drawn, measured or edited by others. Times are seconds from the start of each part.
//
// A part is one trace. Its events are sorted by row (rank), drawn lane and start, so that what a
// lane shows is one run of numbers: `part.slices[row][lane]` = { from, to, latest }.
// An event is known by its number in the part; an action of a schedule by its rank and its place
// in the rank's order: `part.actions[row][place]` is the event.

const ARRAYS = {
  i8: Int8Array, u8: Uint8Array, i16: Int16Array, u16: Uint16Array,
  i32: Int32Array, u32: Uint32Array, f64: Float64Array,
};
export const ACTIONS = new Set(["F", "B", "I", "W"]);

/** The model of a head and its body (a DataView or Uint8Array), as helpers.timeline packs them. */
export function readModel(head, body) {
  const bytes = body.buffer.slice(body.byteOffset, body.byteOffset + body.byteLength);
  const column = ([kind, offset, count]) => new ARRAYS[kind](bytes, offset, count);
  const parts = head.parts.map((part) => readPart(part, column));
  const duration = Math.max(0, ...parts.map((part) => part.duration));
  return { title: head.title, alt: head.alt, parts, duration, unit: parts[0]?.unit ?? "s" };
}

function readPart(head, column) {
  const columns = mapped(head.columns, column), order = inOrder(columns, head);
  const place = new Uint32Array(order.length); // where each event went
  order.forEach((event, there) => { place[event] = there; });
  const went = (numbers) => Array.from(numbers, (event) => place[event]);
  const part = {
    name: head.name, title: head.title, ranks: head.ranks,
    // gray as messages are: where the name doesn't fit, lines tell them apart
    kinds: head.kinds.map((look) => (look.collective ? { ...look, texture: "level" } : look)),
    pipeline: head.pipeline, unit: head.unit ?? "s", lanes: head.lanes, drawn: head.drawn, goesTo: head.goes_to,
    ...mapped(columns, (values) => values.map((_, there) => values[order[there]])),
    count: order.length,
    facts: mapped(head.facts, (fact) => readFact(fact, column, place)),
    send: went(column(head.messages.send)), recv: went(column(head.messages.recv)),
    memory: mapped(head.memory, column),
    duration: 0,
  };
  part.occurs = part.kinds.map(() => false);
  for (let i = 0; i < part.count; i++) {
    part.duration = Math.max(part.duration, part.end[i]);
    part.occurs[part.kind[i]] = true;
  }
  const compute = part.lanes.indexOf("compute");
  const wait = part.kinds.findIndex((kind) => kind.kind === "wait");
  part.isWait = (i) => part.kind[i] === wait;
  part.hasFinished = (i) => part.kind[i] === wait && factOf(part, "cause", i) === "finished";
  part.waits = part.finishes = false; // whether any event is one
  for (let i = 0; i < part.count; i++) {
    if (part.kind[i] === wait) part[part.hasFinished(i) ? "finishes" : "waits"] = true;
  }
  const talk = part.lanes.indexOf("communication");
  part.isTransfer = (i) => part.lane[i] === talk && part.kind[i] !== wait;
  part.isCollective = (i) => part.kinds[part.kind[i]].collective;
  part.isWork = (i) => part.lane[i] === compute && part.kind[i] !== wait;
  part.slices = slices(part);
  part.steps = part.ranks.map((_, row) => inLane(part, row, 0).filter(part.isWork));
  part.actions = part.steps.map((all) => all.filter((i) => ACTIONS.has(part.kinds[part.kind[i]].kind)));
  part.strength = strengths(part);
  part.memory.rows = memoryRows(part);
  part.memory.highest = part.memory.value.reduce((most, value) => Math.max(most, value), 0);
  return part;
}

/** How strong the color of each event is: later stages of a rank are paler, as in the static picture. */
function strengths(part) {
  const strong = new Float32Array(part.count).fill(1);
  part.chunks = 1;
  for (const actions of part.actions) {
    const found = new Set(actions.map((i) => factOf(part, "stage", i)));
    const stages = [...found].filter((stage) => stage !== undefined).sort((a, b) => a - b);
    part.chunks = Math.max(part.chunks, stages.length);
    if (stages.length < 2) continue;
    const share = new Map(stages.map((stage, n) => [stage, 1 - 0.55 * n / (stages.length - 1)]));
    for (const i of actions) strong[i] = share.get(factOf(part, "stage", i)) ?? 1;
  }
  return strong;
}

/** The events by row, drawn lane and start; of nested ones the outer comes first, and what takes no
    time before what starts with it, so that actions keep their order. */
function inOrder({ rank, lane, start, end }, { drawn, goes_to: goesTo }) {
  const place = goesTo.map((to) => (to < 0 ? drawn.length : to));
  const line = Array.from(rank, (row, i) => row * (drawn.length + 1) + place[lane[i]]);
  return Array.from(line.keys()).sort((a, b) =>
    line[a] - line[b] || start[a] - start[b] || (end[a] > start[a]) - (end[b] > start[b]) || end[b] - end[a]);
}

/** One fact: an entry for each event, NaN where it has none; a text's entry is the place in `words`.
    Without `at` every event has it. The words lie in the body, with a zero byte between them. */
function readFact({ at, values, words }, column, place) {
  const entries = new Float64Array(place.length).fill(NaN), having = at && column(at);
  column(values).forEach((value, k) => { entries[place[having ? having[k] : k]] = value; });
  return { entries, words: words && new TextDecoder().decode(column(words)).split("\0") };
}

function mapped(object, change) {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, change(value)]));
}

/** For each row and drawn lane: its events `from`..`to`, and the latest end until each of them. */
function slices(part) {
  const rows = part.ranks.map(() => part.drawn.map(() => null));
  let i = 0;
  while (i < part.count) {
    const row = part.rank[i], lane = part.goesTo[part.lane[i]], from = i;
    while (i < part.count && part.rank[i] === row && part.goesTo[part.lane[i]] === lane) i++;
    if (lane < 0) continue;
    const latest = new Float64Array(i - from);
    for (let k = from, most = 0; k < i; k++) latest[k - from] = most = Math.max(most, part.end[k]);
    rows[row][lane] = { from, to: i, latest };
  }
  return rows;
}

function inLane(part, row, lane) {
  const slice = part.slices[row]?.[lane];
  return slice ? Array.from({ length: slice.to - slice.from }, (_, k) => slice.from + k) : [];
}

function memoryRows(part) {
  const rows = part.ranks.map(() => ({ from: 0, to: 0 }));
  for (let i = 0; i < part.memory.rank.length; i++) {
    const row = rows[part.memory.rank[i]];
    if (row.to === 0) row.from = i;
    row.to = i + 1;
  }
  return rows;
}

/** [first, last) of the events of a lane that may be seen between two times. */
export function between(part, slice, a, b) {
  if (!slice) return [0, 0];
  const first = slice.from + search(slice.latest.length, (k) => slice.latest[k] >= a);
  const last = slice.from + search(slice.to - slice.from, (k) => part.start[slice.from + k] > b);
  return [first, Math.max(first, last)];
}

/** The first of 0..count-1 for which `test` is true; it is false before and true after. */
export function search(count, test) {
  let low = 0, high = count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (test(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** The event of a lane at a time, give or take `near` seconds; -1: none. Of nested ones the inner
    one, and a message before the waiting that lies behind it. */
export function eventAt(part, row, lane, time, near = 0) {
  const slice = part.slices[row]?.[lane];
  const [first, last] = between(part, slice, time - near, time + near);
  let best = -1;
  for (let i = last - 1; i >= first; i--) {
    if (part.end[i] < time - near || part.start[i] > time + near) continue;
    if (best < 0) best = i;
    else if (part.isWait(best) && !part.isWait(i)) best = i;
    else if (misses(part, best, time) && !misses(part, i, time) && !part.isWait(i)) best = i;
  }
  return best;
}

function misses(part, i, time) {
  return time < part.start[i] || time > part.end[i];
}

/** The events of a rank that go on at a time, in all lanes that are drawn; the last one first. */
export function eventsAt(part, row, time) {
  return part.slices[row].flatMap((slice) => {
    const [first, last] = between(part, slice, time, time), found = [];
    for (let i = last - 1; i >= first; i--) if (part.end[i] >= time) found.push(i);
    return found;
  });
}

/** [first start, last end] of what a rank did; null where it did nothing. */
export function spanOf(part, row) {
  const lanes = part.slices[row].filter(Boolean);
  if (!lanes.length) return null;
  return [Math.min(...lanes.map(({ from }) => part.start[from])),
    Math.max(...lanes.map(({ latest }) => latest.at(-1)))];
}

/** One fact of an event; undefined where it has none of this name. */
export function factOf(part, key, i) {
  const fact = part.facts[key], entry = fact?.entries[i] ?? NaN;
  if (Number.isNaN(entry)) return undefined;
  return fact.words ? fact.words[entry] : entry;
}

/** All facts of an event, as [name, value]. */
export function factsOf(part, i) {
  return Object.keys(part.facts)
    .map((key) => [key, factOf(part, key, i)])
    .filter(([, value]) => value !== undefined);
}

/** Where an event stands in a schedule: { rank, index }; null where it is no action of one. */
export function actionOf(part, i) {
  const row = part.rank[i], index = part.actions[row].indexOf(i);
  return index < 0 ? null : { rank: part.ranks[row], index };
}

/** The step (something computed) after or before a time on a row; -1: none. by: 1 or -1. */
export function stepFrom(part, row, event, by) {
  const steps = part.steps[row];
  const place = steps.indexOf(event) + by;
  return place >= 0 && place < steps.length ? steps[place] : -1;
}

/** The step of a row that is nearest to a time; -1: the row has none. */
export function stepNear(part, row, time) {
  let best = -1, least = Infinity;
  for (const i of part.steps[row] ?? []) {
    const far = Math.max(part.start[i] - time, time - part.end[i], 0);
    if (far < least) [best, least] = [i, far];
  }
  return best;
}

/** A rank's memory at a time, in bytes: the last value that was counted. */
export function memoryAt(part, row, time) {
  const { from, to } = part.memory.rows[row];
  const next = from + search(to - from, (k) => part.memory.time[from + k] > time);
  return next > from ? part.memory.value[next - 1] : 0;
}
