import { eventAt } from "./model.js";
import { timeText } from "./words.js";

// What moves over the rows, on a canvas of its own: the pointer's time, the box under it, the
// selected box, the range that is measured, the play head.

/** marks: { hover, selected, range, head }; each may be null. */
export function drawMarks(context, scene, marks) {
  const { layout, axis, theme } = scene;
  context.clearRect(0, 0, layout.width, layout.height);
  context.save();
  context.beginPath();
  context.rect(layout.left - 2, 0, layout.right - layout.left + 4, layout.height);
  context.clip();
  if (marks.range) drawRange(context, scene, marks.range);
  if (marks.hover) {
    context.fillStyle = theme.muted;
    context.globalAlpha = 0.55;
    context.fillRect(Math.round(axis.x(marks.hover.time)), 0, 1, layout.height);
    context.globalAlpha = 1;
    if (marks.hover.event >= 0) outline(context, scene, marks.hover, 1.5);
  }
  if (marks.head !== null) drawNow(context, scene, marks.head);
  if (marks.selected) outline(context, scene, marks.selected, 3);
  context.restore();
  if (marks.head !== null) drawHead(context, scene, marks.head);
}

function drawRange(context, { layout, axis, theme }, [from, to]) {
  const a = axis.x(from), b = axis.x(to);
  context.fillStyle = theme.text;
  context.globalAlpha = 0.09;
  context.fillRect(a, 0, b - a, layout.height);
  context.globalAlpha = 0.8;
  context.fillRect(a - 0.5, 0, 1, layout.height);
  context.fillRect(b - 0.5, 0, 1, layout.height);
  context.globalAlpha = 1;
}

/** A frame around an event, dark on light and light on dark, whatever its color is. */
function outline(context, { layout, axis, theme }, { number, event }, width) {
  const placed = layout.parts[number], { part } = placed;
  const lane = placed.rows[part.rank[event]].lanes[part.goesTo[part.lane[event]]];
  if (!lane) return;
  const x = axis.x(part.start[event]), wide = Math.max(axis.x(part.end[event]) - x, 2);
  context.lineWidth = width + 2;
  context.strokeStyle = theme.background;
  context.strokeRect(x, lane.y, wide, lane.height);
  context.lineWidth = width;
  context.strokeStyle = theme.text;
  context.strokeRect(x, lane.y, wide, lane.height);
}

/** What every rank does at the play head. */
function drawNow(context, scene, time) {
  scene.layout.parts.forEach((placed, number) => {
    placed.rows.forEach((_, row) => {
      const event = eventAt(placed.part, row, 0, time);
      if (event >= 0 && placed.part.end[event] > time) outline(context, scene, { number, event }, 1.5);
    });
  });
}

function drawHead(context, { model, layout, axis, theme, brush }, time) {
  const x = axis.x(time);
  if (x < axis.left - 1 || x > axis.right + 1) return;
  context.fillStyle = theme.text;
  context.fillRect(x - 1, 0, 2, layout.height);
  const text = timeText(time, model.unit), width = brush.width(text, 11, true) + 10;
  const left = Math.min(Math.max(x - width / 2, 0), layout.width - width);
  context.fillRect(left, 0, width, 16);
  brush.text(context, left + width / 2, 8, text, 11, theme.background, "center", true);
}
