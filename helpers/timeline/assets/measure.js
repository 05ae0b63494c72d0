import { between, factOf } from "./model.js";

// Numbers of a range of time, by the definitions of helpers.trace: "busy" is computing, overlap
// counts once, and a rank's time is the whole range.

/** Seconds of a row between a and b. busy: it computes. waiting: it waits and doesn't compute, even
    if a message of its own is in transit: the "wait" of helpers.trace.idle_by_cause.
    communicating: it is in a collective and computes nothing. finished: nothing is left to do. */
function secondsIn(part, row, a, b) {
  const seconds = (counts) => covered(part, part.slices[row], a, b, counts);
  const busy = seconds(part.isWork);
  const besides = (counts) => seconds((i) => part.isWork(i) || counts(i)) - busy;
  return {
    busy,
    waiting: besides((i) => part.isWait(i) && !part.hasFinished(i)),
    communicating: besides(part.isCollective),
    finished: seconds(part.hasFinished),
  };
}

/** Seconds between a and b in which at least one of the events that count goes on. The events of
    each lane are in order; the lanes are merged. */
function covered(part, lanes, a, b, counts) {
  const open = lanes.map((slice) => between(part, slice, a, b)).filter(([from, to]) => from < to);
  let seconds = 0, until = a;
  while (open.length) {
    let next = 0;
    for (let k = 1; k < open.length; k++) {
      if (part.start[open[k][0]] < part.start[open[next][0]]) next = k;
    }
    const i = open[next][0]++;
    if (open[next][0] === open[next][1]) open.splice(next, 1);
    if (!counts(i)) continue;
    const start = Math.max(part.start[i], until), end = Math.min(part.end[i], b);
    if (end > start) seconds += end - start;
    until = Math.max(until, end);
  }
  return seconds;
}

/** The most memory of a row between a and b; null where it was never counted. */
export function peakIn(part, row, a, b) {
  const { from, to } = part.memory.rows[row], { time, value } = part.memory;
  if (from === to) return null;
  let most = -Infinity, before = 0;
  for (let i = from; i < to && time[i] <= b; i++) {
    if (time[i] < a) before = value[i];
    else most = Math.max(most, value[i]);
  }
  return Math.max(most, before);
}

/** All numbers of a part between two times. Shares are 0 to 1; what cannot be said is null. */
export function numbersIn(part, a, b) {
  b = Math.min(b, part.duration);
  const duration = Math.max(0, b - a), ranks = part.ranks.length, room = ranks * duration;
  const rows = part.ranks.map((_, row) => row);
  const all = rows.map((row) => secondsIn(part, row, a, b));
  const of = (what) => all.map((one) => one[what]);
  const share = (what) => (room ? sum(of(what)) / room : null);
  const work = sum(of("busy"));
  const peaks = rows.map((row) => peakIn(part, row, a, b));
  let messages = 0, bytes = null;
  for (const i of part.send) {
    if (part.start[i] < a || part.start[i] > b) continue;
    const size = factOf(part, "bytes", i);
    messages++;
    if (size !== undefined) bytes += size;
  }
  return {
    duration, busy: of("busy"), waiting: of("waiting"), peaks, messages, bytes,
    utilisation: share("busy"),
    bubbleTotal: room ? 1 - work / room : null,
    bubbleIdeal: work ? (room - work) / work : null,
    communicates: share("communicating"),
    waits: share("waiting"),
    finished: share("finished"),
    peak: peaks.some((peak) => peak !== null) ? Math.max(...peaks.map((peak) => peak ?? 0)) : null,
  };
}

function sum(values) {
  return values.reduce((total, value) => total + value, 0);
}
