// Where things lie, in CSS pixels. Heights are those of the static picture: more ranks, flatter rows.

const MEMORY = 22, PAD = 10;

/** Lay out all parts for a width. measure: (text, px) -> width of the text. */
export function layOut(model, width, measure) {
  const names = model.parts.flatMap((part) => [
    ...part.ranks.map((rank) => measure(`rank ${rank}`, 12)),
    ...part.drawn.slice(2).map((lane) => Math.min(measure(lane, 10), 110)),
    ...(part.memory.highest > 0 ? [measure("memory", 10)] : []),
  ]);
  const left = Math.ceil(Math.max(40, ...names)) + PAD + 8;
  const right = Math.max(left + 40, width - 88);
  let y = PAD;
  const parts = model.parts.map((part) => {
    const placed = { part, titleY: part.name ? y + 8 : null, top: 0, rows: [] };
    if (part.name) y += 24;
    placed.top = y;
    y = part.ranks.length ? layOutRows(placed, y) : y + 34;
    placed.bottom = y;
    y += model.parts.length > 1 ? 12 : 0;
    return placed;
  });
  return { width, height: Math.ceil(y + 4), left, right, parts };
}

function layOutRows(placed, y) {
  const { part } = placed, count = part.ranks.length;
  const [compute, other] = count > 100 ? [3, 1.5] : count > 24 ? [8, 4] : count > 12 ? [18, 13] : [26, 15];
  const gap = count > 100 ? 0.5 : count > 24 ? 2 : count > 12 ? 7 : 10;
  const withMemory = part.memory.highest > 0 && count <= 24;
  for (let row = 0; row < count; row++) {
    const top = y;
    const lanes = part.drawn.map((name, number) => {
      const height = number ? other : compute, lane = { name, y, height };
      y += height + (height > 6 ? 2 : 0);
      return lane;
    });
    const memory = withMemory ? { y, height: MEMORY } : null;
    y += memory ? MEMORY : 0;
    placed.rows.push({ top, lanes, memory, bottom: y });
    y += gap;
  }
  placed.every = Math.max(1, Math.round(14 / (placed.rows[0].bottom - placed.rows[0].top + gap)));
  return y;
}

/** The time axis: seconds to x and back. */
export function axisOf(layout, from, to) {
  const scale = (layout.right - layout.left) / (to - from || 1);
  return {
    from, to, scale, left: layout.left, right: layout.right,
    x: (time) => layout.left + (time - from) * scale,
    time: (x) => from + (x - layout.left) / scale,
  };
}

/** What lies at a point: { part, number, row, lane } or null. lane -1: memory or a gap. */
export function placeAt(layout, y) {
  for (const [number, placed] of layout.parts.entries()) {
    if (!placed.rows.length || y < placed.top - 4 || y > placed.bottom) continue;
    let row = placed.rows.findIndex((one) => y <= one.bottom + 2);
    if (row < 0) row = placed.rows.length - 1;
    const lane = placed.rows[row].lanes.findIndex((one) => y <= one.y + one.height + 1);
    return { part: placed.part, number, row, lane };
  }
  return null;
}

/** Round values within low..high, `most` of them at most: steps of 1, 2 or 5 times a power of ten. */
export function ticks(low, high, most = 10) {
  if (!(high > low)) return [low];
  let step = 10 ** Math.floor(Math.log10((high - low) / most));
  for (;;) {
    for (const factor of [1, 2, 5]) {
      const size = factor * step;
      const first = Math.ceil(low / size - 1e-9), last = Math.floor(high / size + 1e-9);
      if (last - first < most) {
        return Array.from({ length: last - first + 1 }, (_, k) => (first + k) * size);
      }
    }
    step *= 10;
  }
}

/** The ticks with as many decimals as their step needs. */
export function tickLabels(values) {
  const step = values.length > 1 ? values[1] - values[0] : 0;
  if (!step) return values.map(String);
  const decimals = Math.min(9, Math.max(0, -Math.floor(Math.log10(step) + 1e-9)));
  const form = { minimumFractionDigits: decimals, maximumFractionDigits: decimals };
  return values.map((value) => (value + 0).toLocaleString("en-US", form));
}
