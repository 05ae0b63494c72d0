import { factOf } from "./model.js";
import { tickLabels, ticks } from "./layout.js";
import { arrow } from "./paint.js";
import { drawLane } from "./lanes.js";
import { bytesText, percent, timeUnit } from "./words.js";

// The rows: lanes, boxes, memory, arrows, labels. A scene says what is drawn: { model, layout,
// axis, theme, look, brush, followed (a micro-batch or null), arrows ("auto", "on", "off"),
// numbers (of each part) }. Drawing changes nothing in it.

const ARROWS = 150; // more than these in sight would be a gray carpet

/** Draw all rows; gives how many boxes and columns were painted. */
export function drawRows(context, scene) {
  const { layout, axis, theme } = scene;
  context.fillStyle = theme.background;
  context.fillRect(0, 0, layout.width, layout.height);
  drawGrid(context, scene);
  let painted = 0;
  layout.parts.forEach((placed, number) => {
    drawLabels(context, scene, placed, scene.numbers[number]);
    context.save();
    context.beginPath();
    context.rect(layout.left, placed.top - 6, layout.right - layout.left, placed.bottom - placed.top + 12);
    context.clip();
    placed.rows.forEach((row, r) => {
      row.lanes.forEach((lane, l) => {
        context.fillStyle = theme.band;
        context.fillRect(layout.left, lane.y, layout.right - layout.left, lane.height);
        painted += drawLane(context, scene, placed.part, lane, placed.part.slices[r][l]);
      });
      if (row.memory) drawMemory(context, scene, placed.part, r, row.memory);
    });
    drawArrows(context, scene, placed);
    context.restore();
  });
  return painted;
}

function drawGrid(context, { model, layout, axis, theme }) {
  const [size] = timeUnit(axis.to - axis.from, model.unit);
  context.fillStyle = theme.grid;
  for (const value of ticks(axis.from / size, axis.to / size)) {
    const x = Math.round(axis.x(value * size));
    for (const placed of layout.parts) {
      context.fillRect(x, placed.top - 4, 1, placed.bottom - placed.top + 4);
    }
  }
}

function drawLabels(context, { layout, theme, brush }, placed, numbers) {
  const { part, rows } = placed;
  if (placed.titleY !== null) {
    brush.text(context, 4, placed.titleY, part.title ? `${part.name}: ${part.title}` : part.name,
      12, theme.text, "left", true);
  }
  if (!rows.length) {
    const middle = (layout.left + layout.right) / 2;
    brush.text(context, middle, placed.top + 13, "nothing was recorded", 12, theme.muted, "center");
  }
  rows.forEach((row, r) => {
    if (r % placed.every) return;
    const middle = row.lanes[0].y + row.lanes[0].height / 2;
    brush.text(context, layout.left - 10, middle, `rank ${part.ranks[r]}`, 12, theme.text, "right");
    const share = numbers.duration ? numbers.busy[r] / numbers.duration : null;
    brush.text(context, layout.right + 8, middle, `busy ${percent(share)}`, 11, theme.muted);
    row.lanes.slice(2).forEach((lane) => {
      if (lane.height < 13) return;
      const name = shortened(brush, lane.name, 10, layout.left - 16);
      brush.text(context, layout.left - 10, lane.y + lane.height / 2, name, 10, theme.muted, "right");
    });
    if (!row.memory) return;
    const y = row.memory.y + row.memory.height / 2, peak = numbers.peaks[r];
    brush.text(context, layout.left - 10, y, "memory", 10, theme.muted, "right");
    if (peak !== null) {
      brush.text(context, layout.right + 8, y, `peak ${bytesText(peak)}`, 10, theme.muted);
    }
  });
}

function shortened(brush, text, size, room) {
  if (brush.width(text, size) <= room) return text;
  while (text && brush.width(`${text}…`, size) > room) text = text.slice(0, -1);
  return `${text}…`;
}

function drawMemory(context, { layout, axis, theme }, part, r, strip) {
  const { from, to } = part.memory.rows[r], { time, value, highest } = part.memory;
  const bottom = strip.y + strip.height;
  const yOf = (bytes) => bottom - strip.height * Math.max(bytes, 0) / highest;
  context.fillStyle = theme.band;
  context.fillRect(layout.left, strip.y, layout.right - layout.left, strip.height);
  context.beginPath();
  context.moveTo(layout.left, bottom);
  let y = bottom, drawn = layout.left;
  for (let i = from; i < to; i++) {
    const x = axis.x(time[i]);
    if (x > axis.right + 2) break;
    const next = yOf(value[i]);
    if (x - drawn >= 0.3) {
      context.lineTo(drawn, y); // what changed since then, too close to be seen
      context.lineTo(x, y);
      drawn = x;
    }
    y = next;
  }
  context.lineTo(drawn, y);
  const end = Math.min(axis.x(part.duration), axis.right);
  context.lineTo(end, y);
  context.lineTo(end, bottom);
  context.closePath();
  context.globalAlpha = 0.4;
  context.fillStyle = theme.muted;
  context.fill();
  context.globalAlpha = 1;
}

/** From where a send leaves its rank's lanes to where the receive enters its own. */
function drawArrows(context, scene, placed) {
  const { axis, theme, followed, arrows } = scene, { part, rows } = placed;
  if (arrows === "off" || rows.length > 24) return;
  const seen = [];
  for (let k = 0; k < part.send.length; k++) {
    const send = part.send[k], receive = part.recv[k];
    if (part.start[send] > axis.to || part.end[receive] < axis.from) continue;
    if (followed !== null && factOf(part, "micro_batch", send) !== followed) continue;
    seen.push([send, receive]);
  }
  if (arrows === "auto" && followed === null && seen.length > ARROWS) return;
  context.strokeStyle = context.fillStyle = followed === null ? theme.muted : theme.text;
  context.lineWidth = followed === null ? 1 : 1.6;
  for (const [send, receive] of seen) {
    const a = rows[part.rank[send]], b = rows[part.rank[receive]], down = b.top > a.top;
    const y0 = down ? underLanes(a) : a.top, y1 = down ? b.top : underLanes(b);
    arrow(context, axis.x(part.start[send]), y0, axis.x(part.end[receive]), y1);
  }
}

function underLanes(row) {
  const lane = row.lanes[Math.min(1, row.lanes.length - 1)];
  return lane.y + lane.height;
}

/** The time axis below the rows, on a canvas of its own. */
export function drawAxis(context, { model, layout, axis, theme, brush }) {
  context.fillStyle = theme.background;
  context.fillRect(0, 0, layout.width, 36);
  const [size, name] = timeUnit(axis.to - axis.from, model.unit);
  const values = ticks(axis.from / size, axis.to / size);
  const texts = tickLabels(values);
  values.forEach((value, k) => {
    brush.text(context, axis.x(value * size), 8, texts[k], 11, theme.muted, "center");
  });
  brush.text(context, (layout.left + layout.right) / 2, 26, `time (${name})`, 11, theme.muted, "center");
}
