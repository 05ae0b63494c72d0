import { between, factOf } from "./model.js";
import { labels } from "./words.js";

// One lane: boxes where there is room, and a fair summary where there is not, as in
// helpers.draw.lanes. What is narrower than about a pixel is summed up column by column: each
// color fills as much of the height as its kind took of the time.

const NARROW = 1.6; // pixels
const FADED = 0.13; // what belongs to another micro-batch than the one that is followed

/** Draw the events of a lane; gives how many shapes were painted. */
export function drawLane(context, scene, part, lane, slice) {
  const { axis } = scene;
  const [first, last] = between(part, slice, axis.from, axis.to);
  const waits = [], boxes = [];
  let run = [], runEnd = 0, sums = null;
  const close = () => {
    if (run.length > 2) sums = summed(sums, scene, part, run);
    else for (const i of run) (part.isWait(i) ? waits : boxes).push(i);
    run = [];
  };
  for (let i = first; i < last; i++) {
    const left = axis.x(part.start[i]), right = axis.x(part.end[i]);
    if (right < axis.left || left > axis.right) continue;
    if (right - left >= NARROW) {
      (part.isWait(i) ? waits : boxes).push(i);
      continue;
    }
    if (run.length && left - runEnd > 2) close();
    runEnd = run.length ? Math.max(runEnd, right) : right;
    run.push(i);
  }
  close();
  // Waiting lies behind what happens meanwhile.
  for (const i of waits) drawWait(context, scene, part, lane, i);
  const columns = sums ? drawColumns(context, scene, lane, sums) : 0;
  for (const i of boxes) drawBox(context, scene, part, lane, i);
  return waits.length + boxes.length + columns + drawPairs(context, scene, part, lane, boxes);
}

/** A frame around the two boxes of each pair (F&B), which are one action; gives how many. */
function drawPairs(context, { axis, theme }, part, lane, boxes) {
  const pairs = new Map();
  for (const i of boxes) {
    const pair = factOf(part, "pair", i);
    if (pair !== undefined) pairs.set(pair, [...(pairs.get(pair) ?? []), i]);
  }
  context.strokeStyle = theme.text;
  context.lineWidth = 1.4;
  for (const both of pairs.values()) {
    const [x] = edges(axis, part, both[0]), [last, width] = edges(axis, part, both.at(-1));
    context.strokeRect(x + 0.7, lane.y + 0.7, last + width - x - 2.4, lane.height - 1.4);
  }
  return pairs.size;
}

function drawBox(context, scene, part, lane, i) {
  const { axis, brush, theme } = scene, look = part.kinds[part.kind[i]];
  const alpha = alphaOf(scene, part, i), ink = part.strength[i] < 0.7 ? theme.text : look.ink;
  const [x, width] = edges(axis, part, i);
  const shown = width > 4 ? width - 1 : width;
  context.globalAlpha = alpha * part.strength[i];
  context.fillStyle = look.color;
  context.fillRect(x, lane.y, shown, lane.height);
  context.globalAlpha = alpha;
  const letter = lane.height >= 13 ? fitting(scene, part, i, shown - 3, lane) : null;
  if (letter) {
    const middle = visibleMiddle(axis, x, shown, letter.width);
    brush.text(context, middle, lane.y + lane.height / 2, letter.text, letter.size, ink,
      "center", letter.bold);
  } else if (look.texture && shown >= 3) {
    context.globalAlpha *= 0.5;
    context.fillStyle = brush.texture(context, look.texture, look.ink);
    context.fillRect(x, lane.y, shown, lane.height);
  }
  context.globalAlpha = 1;
}

function drawWait(context, scene, part, lane, i) {
  const { axis, theme, brush } = scene, [x, width] = edges(axis, part, i);
  context.globalAlpha = alphaOf(scene, part, i);
  if (part.hasFinished(i)) {
    context.fillStyle = theme.wait; // a flat line
    context.fillRect(x, lane.y + lane.height / 2 - 0.75, Math.max(width - 1, 1), 1.5);
  } else {
    context.fillStyle = brush.texture(context, "rising", theme.wait);
    context.fillRect(x, lane.y, Math.max(width - 1, 1), lane.height);
  }
  if (lane.height >= 13) {
    const letter = fitting(scene, part, i, width - 34, lane);
    if (letter) {
      const middle = visibleMiddle(axis, x, width, letter.width), room = letter.width + 8;
      context.fillStyle = theme.band;
      context.fillRect(middle - room / 2, lane.y, room, lane.height);
      brush.text(context, middle, lane.y + lane.height / 2, letter.text, letter.size, theme.text, "center");
    }
  }
  context.globalAlpha = 1;
}

/** x and width of an event in whole pixels of the screen, so that its sides are sharp. */
function edges(axis, part, i) {
  const ratio = window.devicePixelRatio || 1;
  const left = Math.max(axis.x(part.start[i]), axis.left - 20);
  const right = Math.min(axis.x(part.end[i]), axis.right + 20);
  const x = Math.round(left * ratio) / ratio;
  return [x, Math.max(Math.round(right * ratio) / ratio - x, 1)];
}

/** The first of an event's labels that fits into so many pixels; null if none does. */
function fitting({ brush }, part, i, room, lane) {
  if (room < 5) return null;
  const most = lane.height >= 18 ? 12 : 10;
  for (const size of most > 10 ? [12, 10] : [10]) {
    for (const text of labels(part, i)) {
      const bold = size > 10, width = brush.width(text, size, bold);
      if (width <= room) return { text, size, bold, width };
    }
  }
  return null;
}

/** Where a label stands: in the middle of what is in sight of its box. */
function visibleMiddle(axis, x, width, needed) {
  const left = Math.max(x, axis.left), right = Math.min(x + width, axis.right);
  return right - left >= needed + 2 ? (left + right) / 2 : x + width / 2;
}

function alphaOf({ followed }, part, i) {
  return followed === null || factOf(part, "micro_batch", i) === followed ? 1 : FADED;
}

/** Add a run of narrow events to the sums: {color: pixels covered, column by column}. */
function summed(sums, { axis, followed }, part, run) {
  sums ??= new Map();
  const columns = Math.ceil(axis.right - axis.left) + 1;
  for (const i of run) {
    if (part.hasFinished(i)) continue; // it stays empty
    if (followed !== null && factOf(part, "micro_batch", i) !== followed) continue;
    const color = part.isWait(i) ? "" : part.kinds[part.kind[i]].color;
    const right = Math.min(axis.x(part.end[i]) - axis.left, columns - 1);
    cover(sums, color, columns, axis.x(part.start[i]) - axis.left, right);
  }
  return sums;
}

/** Add what lies between two places, in pixels, to the columns of its color. */
export function cover(sums, color, columns, left, right, share = 1) {
  if (!sums.has(color)) sums.set(color, new Float32Array(columns));
  const sum = sums.get(color), from = Math.max(left, 0), to = Math.min(right, columns);
  for (let c = Math.floor(from); c < to; c++) {
    sum[c] += share * (Math.min(to, c + 1) - Math.max(from, c));
  }
}

/** Stacked columns: each color fills as much of the height as its kind took of the time. */
function drawColumns(context, { axis, look, theme }, lane, sums) {
  let painted = 0, floor = null;
  for (const color of [...look.order, ""]) {
    const sum = sums.get(color);
    if (!sum) continue;
    floor ??= new Float32Array(sum.length);
    context.fillStyle = color || theme.wait;
    for (let c = 0; c < sum.length; c++) {
      const share = Math.min(sum[c], 1 - floor[c]);
      if (share * lane.height < 0.3) continue;
      const bottom = floor[c];
      let end = c + 1; // neighbors that look the same become one rectangle
      while (end < sum.length && floor[end] === bottom
        && Math.abs(Math.min(sum[end], 1 - bottom) - share) * lane.height < 0.4) end++;
      const y = lane.y + lane.height * (1 - bottom - share);
      context.fillRect(axis.left + c, y, end - c, share * lane.height);
      for (let k = c; k < end; k++) floor[k] += share;
      painted++;
      c = end - 1;
    }
  }
  return painted;
}
