// The timeline of a page: rows and events come laid out and in words from Python (`packed`). Here
// they are drawn on a canvas, zoomed, and pointed at.

const LEFT = 62, RIGHT = 88, AXIS = 36; // pixels around the rows
const HINT = "Point at a box, or press it. Drag to move, wheel to zoom once pressed, double-click "
  + "for all. Keys: ← → events, ↑ ↓ ranks, + − zoom, 0 all, Esc.";

function render({ model, el }) {
  const root = element("div", "lab-timeline", el);
  const title = element("div", "lab-title", root), note = element("div", "lab-note", root);
  const panel = element("div", "lab-panel", root);
  const problem = element("div", "lab-problem", root);
  const legend = element("div", "lab-legend", root);
  const canvas = element("canvas", "", root), context = canvas.getContext("2d");
  const words = element("div", "lab-words", root);
  element("div", "lab-hint", root, HINT);
  const tip = element("div", "lab-tip", root);
  tip.hidden = true;
  problem.setAttribute("role", "alert");
  words.setAttribute("role", "status"); // a screen reader says what the keys have found
  canvas.tabIndex = 0;
  canvas.setAttribute("role", "application");
  keepKeys(root);
  let data, byRow, from, to, colors, selected = -1, hovered = -1, asked = 0;

  // --- where things are ---

  const wide = () => canvas.clientWidth - LEFT - RIGHT;
  const xOf = (time) => LEFT + ((time - from) / (to - from)) * wide();
  const timeOf = (x) => from + ((x - LEFT) / wide()) * (to - from);
  const kindOf = (n) => data.kinds[data.events.kind[n]];

  /** The event at a point; the inner one of nested events, and work before the wait behind it. */
  function eventAt(x, y) {
    const row = data.rows.findIndex((each) => y >= each.top && y < each.top + each.high);
    if (row < 0 || x < LEFT || x > LEFT + wide()) return -1;
    const { start, end } = data.events, time = timeOf(x), slack = ((to - from) / wide()) * 1.5;
    const there = byRow[row].filter((n) => start[n] - slack <= time && time <= end[n] + slack);
    const outside = (n) => Math.max(start[n] - time, time - end[n], 0); // a neighbor comes second
    return there.sort((a, b) => outside(a) - outside(b)
      || Boolean(kindOf(a).rest) - Boolean(kindOf(b).rest)
      || end[a] - start[a] - end[b] + start[b])[0] ?? -1;
  }

  function look(start, stop) {
    const least = data.duration / 1e5;
    const span = Math.min(Math.max(stop - start, least), data.duration);
    from = Math.min(Math.max(start, 0), data.duration - span);
    to = from + span;
    draw();
  }

  /** Zoom around a time: the pointer's, or the middle of what is chosen. */
  function zoom(by, time) {
    const { start, end } = data.events;
    time ??= (selected < 0 ? from + to : start[selected] + end[selected]) / 2;
    look(time - (time - from) / by, time + (to - time) / by);
  }

  // --- drawing ---

  function draw() {
    cancelAnimationFrame(asked);
    asked = requestAnimationFrame(paint);
  }

  function paint() {
    if (!canvas.clientWidth) return;
    const sharp = devicePixelRatio || 1, high = data.high + AXIS;
    canvas.style.height = `${high}px`;
    canvas.width = canvas.clientWidth * sharp;
    canvas.height = high * sharp;
    context.scale(sharp, sharp);
    colors = { font: getComputedStyle(root).fontFamily };
    for (const name of ["card", "ink", "muted", "grid", "band", "wait"]) {
      tip.style.outlineColor = `var(--${name})`; // light-dark() is a color only where it's used
      colors[name] = getComputedStyle(tip).outlineColor;
    }
    const hatch = hatching(sharp);
    for (const row of data.rows) {
      const middle = row.top + row.high / 2;
      context.fillStyle = colors.band;
      context.fillRect(LEFT, row.top, wide(), row.high);
      if (row.high < 10) continue;
      text(row.left, LEFT - 8, middle, "12px", colors.ink, "right", LEFT - 12);
      text(row.right, LEFT + wide() + 8, middle, "11px", colors.muted, "left");
    }
    axis();
    for (const [y, said] of data.heads) { // over the grid
      context.fillStyle = colors.card;
      context.fillRect(0, y - 10, canvas.clientWidth, 20);
      text(said, 0, y, "bold 12px", colors.ink, "left");
    }
    context.save();
    context.beginPath();
    context.rect(LEFT, 0, wide(), data.high);
    context.clip();
    for (const row of data.rows) memory(row);
    const order = [...data.events.row.keys()];
    for (const n of order) if (kindOf(n).rest) box(n, hatch);
    for (const one of data.arrows) arrow(one); // below the letters
    for (const n of order) if (!kindOf(n).rest) box(n, hatch);
    for (const [row, start, end] of data.frames) frame(row, start, end, colors.ink, 1);
    const { row, start, end } = data.events;
    for (const n of [hovered, selected]) {
      if (n >= 0) frame(row[n], start[n], end[n], colors.ink, n === selected ? 2.5 : 1.5);
    }
    context.restore();
  }

  function axis() {
    const [size, unit] = data.unit;
    for (const tick of ticks(from / size, to / size, wide() / 70)) {
      const x = xOf(tick * size);
      context.fillStyle = colors.grid;
      context.fillRect(x, 2, 1, data.high);
      text(String(tick), x, data.high + 12, "11px", colors.muted, "center");
    }
    text(`time (${unit})`, LEFT + wide() / 2, data.high + 28, "11px", colors.muted, "center");
  }

  function text(said, x, y, font, color, align, most) {
    context.font = `${font} ${colors.font}`;
    Object.assign(context, { fillStyle: color, textAlign: align, textBaseline: "middle" });
    context.fillText(said, x, y, most);
  }

  function hatching(sharp) {
    const tile = document.createElement("canvas");
    tile.width = tile.height = 6 * sharp;
    const pen = tile.getContext("2d");
    pen.scale(sharp, sharp);
    pen.strokeStyle = colors.wait;
    pen.beginPath();
    for (const shift of [-6, 0, 6]) {
      pen.moveTo(shift - 1, 7);
      pen.lineTo(shift + 7, -1);
    }
    pen.stroke();
    const pattern = context.createPattern(tile, "repeat");
    pattern.setTransform(new DOMMatrix().scale(1 / sharp));
    return pattern;
  }

  function box(n, hatch) {
    const { start, end, shade, row } = data.events;
    const { color, rest } = kindOf(n), { top, high } = data.rows[row[n]];
    const x = xOf(start[n]), width = Math.max(xOf(end[n]) - x, 0.6);
    if (x > LEFT + wide() || x + width < LEFT) return;
    const shown = width > 4 ? width - 1 : width; // a seam between neighbors
    if (rest === "finished") {
      context.fillStyle = colors.wait;
      context.fillRect(x, top + high / 2, shown, 1);
      return;
    }
    for (const fill of rest ? [hatch] : [colors.card, color]) { // a pale one hides what's behind
      context.globalAlpha = fill === color ? shade[n] : 1;
      context.fillStyle = fill;
      context.fillRect(x, top, shown, high);
    }
    context.globalAlpha = 1;
    const left = Math.max(x, LEFT), seen = Math.min(x + shown, LEFT + wide()) - left;
    if (high >= 10 && seen >= 8) letters(n, left + seen / 2, seen); // in sight as long as it is
  }

  /** Write the longest label that fits into a box, the smaller the less room there is. */
  function letters(n, middle, seen) {
    const { shade, labels, row } = data.events, { top, high } = data.rows[row[n]];
    const { ink, rest } = kindOf(n), room = seen - (rest ? 14 : 1), y = top + high / 2 + 0.5;
    for (const label of labels[n]) {
      for (const font of rest ? ["11px"] : high > 13 ? ["bold 12px", "10px"] : ["10px"]) {
        context.font = `${font} ${colors.font}`;
        const width = context.measureText(label).width;
        if (width > room) continue;
        if (rest) {
          context.fillStyle = colors.band;
          context.fillRect(middle - width / 2 - 4, top + 2, width + 8, high - 4);
        }
        const color = rest ? colors.muted : shade[n] < 0.7 ? colors.ink : ink;
        text(label, middle, y, font, color, "center");
        return;
      }
    }
  }

  function arrow([sent, y0, got, y1]) {
    const x0 = xOf(sent), x1 = xOf(got), angle = Math.atan2(y1 - y0, x1 - x0);
    Object.assign(context, { strokeStyle: colors.muted, fillStyle: colors.muted, lineWidth: 1 });
    context.beginPath();
    context.moveTo(x0, y0);
    context.lineTo(x1, y1);
    context.stroke();
    context.beginPath();
    context.moveTo(x1, y1);
    for (const turn of [2.7, -2.7]) {
      context.lineTo(x1 + 6 * Math.cos(angle + turn), y1 + 6 * Math.sin(angle + turn));
    }
    context.fill();
  }

  function memory({ top, high, steps }) {
    const y = (level) => top + high * (1 - Math.max(level, 0));
    Object.assign(context, { fillStyle: colors.wait, globalAlpha: 0.5 });
    steps.forEach(([time, level], n) => {
      const x = xOf(time), until = xOf(steps[n + 1]?.[0] ?? data.duration);
      context.fillRect(x, y(level), until - x, top + high - y(level));
    });
    context.globalAlpha = 1;
  }

  function frame(row, start, end, color, width) {
    const { top, high } = data.rows[row], x = xOf(start);
    Object.assign(context, { strokeStyle: color, lineWidth: width });
    context.strokeRect(x, top + 0.5, Math.max(xOf(end) - x - 1, 2), high - 1);
  }

  // --- pointer and keys ---

  const place = (event) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };

  function hover(event) {
    const [x, y] = place(event), n = eventAt(x, y);
    tip.hidden = n < 0;
    if (n >= 0) {
      tip.textContent = data.events.words[n];
      const right = Math.min(canvas.offsetLeft + x + 14, root.clientWidth - tip.offsetWidth - 6);
      Object.assign(tip.style, { left: `${right}px`, top: `${canvas.offsetTop + y + 16}px` });
    }
    if (n !== hovered) draw();
    hovered = n;
  }

  function choose(n) {
    selected = n;
    words.textContent = n < 0 ? "" : data.events.words[n];
    if (n >= 0) {
      const { start, end } = data.events, middle = (start[n] + end[n]) / 2, half = (to - from) / 2;
      if (end[n] > to || start[n] < from) look(middle - half, middle + half);
    }
    draw();
  }

  let held = null;
  canvas.onpointerdown = (event) => {
    held = { x: event.clientX, from, to, moved: false };
    canvas.setPointerCapture(event.pointerId);
  };
  canvas.onpointermove = (event) => {
    if (!held) return hover(event);
    const by = event.clientX - held.x, shift = (by / wide()) * (held.to - held.from);
    held.moved ||= Math.abs(by) > 3;
    if (held.moved) look(held.from - shift, held.to - shift);
    return undefined;
  };
  canvas.onpointerup = (event) => {
    if (held && !held.moved) choose(eventAt(...place(event)));
    held = null;
  };
  canvas.onpointerleave = () => {
    tip.hidden = true;
    hovered = -1;
    draw();
  };
  canvas.ondblclick = () => look(0, data.duration);
  canvas.addEventListener("wheel", (event) => {
    if (document.activeElement !== canvas && !event.ctrlKey) return; // a page scrolls over it
    event.preventDefault();
    zoom(Math.exp(-event.deltaY / 300), timeOf(place(event)[0]));
  }, { passive: false });

  /** The next event of a row to one side, or the nearest in time of the next row that has any. */
  function step(along, down) {
    const { start, end, row } = data.events;
    if (selected < 0) return choose(byRow.find((each) => each.length)?.[0] ?? -1);
    const mine = byRow[row[selected]];
    if (along) return choose(mine[mine.indexOf(selected) + along] ?? selected);
    let other = row[selected] + down;
    while (byRow[other] && !byRow[other].length) other += down;
    if (!byRow[other]) return undefined;
    const time = (start[selected] + end[selected]) / 2;
    const far = (n) => Math.max(start[n] - time, time - end[n], 0);
    return choose([...byRow[other]].sort((a, b) => far(a) - far(b))[0]);
  }

  canvas.onkeydown = (event) => {
    const acts = {
      ArrowLeft: () => step(-1, 0),
      ArrowRight: () => step(1, 0),
      ArrowUp: () => step(0, -1),
      ArrowDown: () => step(0, 1),
      "+": () => zoom(1.5),
      "=": () => zoom(1.5),
      "-": () => zoom(1 / 1.5),
      0: () => look(0, data.duration),
      Escape: () => choose(-1),
    };
    if (!(event.key in acts) || event.ctrlKey || event.metaKey || event.altKey) return;
    acts[event.key]();
    event.preventDefault();
  };

  // --- sliders ---

  const rows = new Map();
  const told = (value) => (value === null ? "no limit" : String(value));

  function put(name, value) {
    const settings = { ...model.get("settings"), [name]: value };
    model.set("settings", settings);
    model.save_changes();
    for (const [row, only] of rows) row.hidden = only.length && !only.includes(settings.schedule);
  }

  for (const { name, label, values, only } of model.get("controls")) {
    const row = element("label", "", panel), value = model.get("settings")[name];
    element("span", "", row, label);
    rows.set(row, only);
    row.hidden = only.length && !only.includes(model.get("settings").schedule);
    if (name === "schedule") {
      const choice = element("select", "", row);
      for (const each of values) choice.add(new Option(each, each, false, each === value));
      choice.onchange = () => put(name, choice.value);
      continue;
    }
    const slider = element("input", "", row), shown = element("output", "", row, told(value));
    const at = String(values.indexOf(value));
    Object.assign(slider, { type: "range", min: 0, max: values.length - 1, value: at });
    slider.ariaValueText = told(value);
    slider.dataset.name = name;
    slider.oninput = () => {
      shown.textContent = slider.ariaValueText = told(values[slider.value]);
      put(name, values[slider.value]);
    };
  }

  // --- the model ---

  function changed() {
    const whole = !data || (from === 0 && to === data.duration);
    data = model.get("data");
    byRow = data.rows.map(() => []);
    data.events.row.forEach((row, n) => byRow[row].push(n));
    for (const row of byRow) row.sort((a, b) => data.events.start[a] - data.events.start[b]);
    title.textContent = data.title;
    note.textContent = data.note;
    canvas.setAttribute("aria-label", data.alt);
    legend.replaceChildren();
    const entries = new Set();
    for (const { color, ink, letter, word, rest } of data.kinds) {
      if (entries.has(word) || rest === "finished") continue;
      entries.add(word);
      const entry = element("span", "", legend), swatch = element("i", rest, entry, letter);
      entry.append(word);
      if (!rest) Object.assign(swatch.style, { background: color, color: ink });
    }
    if (data.frames.length) {
      element("i", "lab-framed", element("span", "", legend)).after("a pair, one action");
    }
    hovered = -1;
    tip.hidden = true;
    choose(-1);
    if (whole) look(0, data.duration);
    else look(from, to);
  }

  function refused() {
    problem.textContent = model.get("problem");
    root.classList.toggle("lab-stale", Boolean(problem.textContent));
  }

  changed();
  refused();
  model.on("change:data", changed);
  model.on("change:problem", refused);
  const resized = new ResizeObserver(draw);
  resized.observe(root);
  const themed = new MutationObserver(draw), attributes = { attributes: true };
  for (const each of [document.body, document.documentElement]) themed.observe(each, attributes);
  return () => {
    model.off("change:data", changed);
    model.off("change:problem", refused);
    resized.disconnect();
    themed.disconnect();
  };
}

export const mount = (el, state, changed) => mountWidget(render, el, state, changed);
export default { render };
