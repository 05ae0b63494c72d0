import { cover } from "./lanes.js";

// The strip above the rows: the whole time, what is in sight of it, and the range that is measured.

export const OVERVIEW = 34;

/** Draw the strip. It is summed up once for each width and theme: `memory` keeps the picture. */
export function drawOverview(context, scene, range, memory) {
  const { model, layout, axis, theme } = scene;
  const { left, right, width } = layout, x = (time) => left + (right - left) * time / (model.duration || 1);
  const key = `${left} ${right} ${theme.name} ${window.devicePixelRatio}`;
  if (memory.model !== model || memory.key !== key) {
    Object.assign(memory, { model, key, strips: model.parts.map((part) => sums(part, scene)) });
  }
  context.fillStyle = theme.background;
  context.fillRect(0, 0, width, OVERVIEW);
  context.fillStyle = theme.band;
  context.fillRect(left, 4, right - left, OVERVIEW - 8);
  const height = (OVERVIEW - 8) / memory.strips.length, gap = memory.strips.length > 1 ? 2 : 0;
  memory.strips.forEach((strip, number) => drawStrip(context, scene, strip, 4 + number * height + gap, height - gap));
  if (!model.duration) return;
  const [from, to] = [x(axis.from), x(axis.to)];
  context.globalAlpha = 0.72;
  context.fillStyle = theme.background;
  context.fillRect(left, 0, from - left, OVERVIEW);
  context.fillRect(to, 0, right - to, OVERVIEW);
  context.globalAlpha = 1;
  context.strokeStyle = theme.muted;
  context.lineWidth = 1;
  context.strokeRect(Math.round(from) + 0.5, 2.5, Math.max(Math.round(to - from) - 1, 2), OVERVIEW - 5);
  if (range) {
    context.fillStyle = theme.text;
    const [a, b] = [x(range[0]), x(range[1])];
    context.globalAlpha = 0.15;
    context.fillRect(a, 2, b - a, OVERVIEW - 4);
    context.globalAlpha = 1;
    context.fillRect(a - 1, 0, 2, OVERVIEW);
    context.fillRect(b - 1, 0, 2, OVERVIEW);
  }
}

/** For each color of work: the share of all ranks that do it, column by column. */
function sums(part, { model, layout }) {
  const columns = Math.max(1, Math.ceil(layout.right - layout.left));
  const scale = columns / (model.duration || 1), found = new Map();
  for (const steps of part.steps) {
    for (const i of steps) {
      const { color } = part.kinds[part.kind[i]];
      cover(found, color, columns, part.start[i] * scale, part.end[i] * scale, 1 / part.ranks.length);
    }
  }
  return found;
}

function drawStrip(context, { look, layout }, strip, y, height) {
  let floor = null;
  for (const color of look.order) {
    const sum = strip.get(color);
    if (!sum) continue;
    floor ??= new Float32Array(sum.length);
    context.fillStyle = color;
    context.beginPath();
    for (let c = 0; c < sum.length; c++) {
      const share = Math.min(sum[c], 1 - floor[c]);
      if (share <= 0) continue;
      context.rect(layout.left + c, y + height * (1 - floor[c] - share), 1, height * share);
      floor[c] += share;
    }
    context.fill();
  }
}
